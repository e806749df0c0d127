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
from policies.history.lockout import is_allowed
from policies.list_files.parsing import Format, Listed, Ranges, read_list
from policies.lists.importing import Imported, ImportRules, dropped_for, import_list
from policies.models import AllowlistEntry

MAX_BYTES = 512 * 1024
"""Maximum size of a list sent through a form; longer lists are imported by command."""
_EXAMPLES = 20


class ListChanged(Conflict):
    """The import would no longer do what the preview showed."""

    code = "list-changed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A list as sent, with the rules of its import."""

    text: str
    name: str
    rules: ImportRules
    kind: Format = Format.AUTO

    def open(self) -> BytesIO:
        return BytesIO(self.text.encode())


@dataclass(frozen=True, slots=True)
class ListPreview:
    """Dry run of an import; ``conflicts`` has the first allowlist entries that overlap the list."""

    imported: Imported
    conflicts: tuple[str, ...]
    number_of_conflicts: int
    locks_out: bool


def preview(proposal: Proposal, *, caller: Caller | None) -> ListPreview:
    """Return a dry run of the import. Raises ListRefused."""
    imported = import_list(proposal.open(), name=proposal.name, rules=proposal.rules, kind=proposal.kind, dry_run=True)
    ranges = Ranges(_networks(proposal))
    conflicts = [text for text in _allowed() if ranges.overlaps(parse_network(text))]
    locks_out = caller is not None and not is_allowed(caller) and ranges.overlaps(parse_network(str(caller.address)))
    return ListPreview(imported, tuple(conflicts[:_EXAMPLES]), len(conflicts), locks_out)


@revisions.one_at_a_time
def import_as_shown(proposal: Proposal, previewed: Imported, *, actor: str, caller: Caller | None) -> Imported:
    """Import the list if a dry run still equals ``previewed``. Raises ListRefused, ListChanged, WouldLockYouOut."""
    read = partial(import_list, name=proposal.name, rules=proposal.rules, kind=proposal.kind)
    if read(proposal.open(), dry_run=True) != previewed:
        raise ListChanged(_("the blocklist has changed since this was shown; look at it again"))
    return read(proposal.open(), actor=actor, caller=caller)


def _networks(proposal: Proposal) -> Iterator[IPNetwork]:
    trusted = Ranges(proposal.rules.trusted.networks)
    for listed in read_list(proposal.open(), proposal.kind):
        if isinstance(listed, Listed) and dropped_for(listed, proposal.rules, trusted) is None:
            yield listed.network


def _allowed() -> Iterator[str]:
    live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    entries = AllowlistEntry.objects.filter(live).order_by("network")  # no other column: DISTINCT would include it
    yield from entries.values_list("network", flat=True).distinct().iterator()
