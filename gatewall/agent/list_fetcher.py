"""Thread that fetches subscribed lists while this host's agent leads."""

from django.utils import timezone

from gatewall.agent.loop import Loop
from policies.lists.subscriptions import fetch_next


class ListFetcher(Loop):
    """Fetches every list that is due; each list is fetched by one host.

    When the agent ends, an unfinished fetch is rolled back and repeated after its lease.
    """

    name = "list-fetcher"
    every_seconds = 15.0
    join_seconds = 5.0
    failing = "lists are not fetched"
    recovered = "fetching lists again"

    def _work(self) -> None:
        while fetch_next(timezone.now(), self._stop.is_set) and not self._stop.is_set():
            pass
