"""Revert changes that refuse too many people who were let in before."""

from django.utils import timezone

from gatewall.agent.loop import Loop
from gatewall.whatif.refusal_watch import RefusalWatcher, open_watches


class RefusalWatches(Loop):
    """Checks the watched changes of policy."""

    name = "refusal watches"
    every_seconds = 2.0
    join_seconds = 10.0
    failing = "watched changes are not checked"
    recovered = "checking watched changes again"

    def __init__(self) -> None:
        super().__init__()
        self._watcher = RefusalWatcher()

    def _is_idle(self) -> bool:
        return not open_watches().exists()

    def _work(self) -> None:
        self._watcher.check(timezone.now())
