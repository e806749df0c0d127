"""Preview the import of a list, and import exactly what was previewed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO

from django.db.models import Q
from django.utils import timezone

from gatewall.engine.addresses import IPNetwork, parse_network
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import selectors
from policies.history.lockout import is_allowed
from policies.list_files.block_lists import Format, Listed, Ranges, read_list
from policies.lists.importing import Imported, Importer, ImportRules, dropped_for, import_list

MAX_BYTES = 512 * 1024
"""Of a list that is sent through a form, and once more when it is confirmed; longer ones go by command."""
_EXAMPLES = 20


class ListChanged(Conflict):
    """The import would not do any more what was shown."""

    code = "list-changed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A list as it was sent, and under which rules."""

    text: str
    name: str
    rules: ImportRules
    kind: Format = Format.AUTO

    def opened(self) -> BytesIO:
        """Return the list as a file."""
        return BytesIO(self.text.encode())


@dataclass(frozen=True, slots=True)
class ListPreview:
    """What an import would do; ``conflicts`` are allowlist entries that beat some of it, the first of them."""

    imported: Imported
    conflicts: tuple[str, ...]
    number_of_conflicts: int
    locks_out: bool


def preview(proposal: Proposal, *, caller: Caller | None) -> ListPreview:
    """Return what an import would do. Raises ListRefused."""
    imported = import_list(
        proposal.opened(), name=proposal.name, rules=proposal.rules, kind=proposal.kind, dry_run=True
    )
    networks = list(_networks(proposal))
    ranges = Ranges(networks)
    conflicts = [text for text in _allowed() if ranges.overlaps(parse_network(text))]
    locks_out = caller is not None and not is_allowed(caller) and ranges.overlaps(parse_network(str(caller.address)))
    return ListPreview(imported, tuple(conflicts[:_EXAMPLES]), len(conflicts), locks_out)


@revisions.one_at_a_time
def import_as_shown(proposal: Proposal, shown: Imported, *, by: Importer) -> Imported:
    """Import the list if that does what was shown. Raises ListRefused, ListChanged, WouldLockYouOut."""
    read = partial(import_list, name=proposal.name, rules=proposal.rules, kind=proposal.kind)
    if read(proposal.opened(), dry_run=True) != shown:
        raise ListChanged(_("the blocklist has changed since this was shown; look at it again"))
    return read(proposal.opened(), by=by)


def _networks(proposal: Proposal) -> Iterator[IPNetwork]:
    trusted = Ranges(proposal.rules.trusted.networks)
    for listed in read_list(proposal.opened(), proposal.kind):
        if isinstance(listed, Listed) and dropped_for(listed, proposal.rules, trusted) is None:
            yield listed.network


def _allowed() -> Iterator[str]:
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    entries = selectors.allowed_networks().filter(live).order_by("network", "id")
    yield from entries.values_list("network", flat=True).distinct().iterator()
