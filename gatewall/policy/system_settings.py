"""Read and write the row of system settings."""

from typing import Any, get_type_hints

from gatewall.database.prepared import Prepared
from gatewall.engine.snapshot import PolicySettings, Segment
from gatewall.kernel.changes import Change, describe, difference
from gatewall.models import SystemSettings
from gatewall.policy import revisions

_ONLY_ROW = 1
_CURRENT = Prepared(lambda: SystemSettings.objects.filter(pk=_ONLY_ROW))


def current() -> SystemSettings:
    """Return the current settings, by default an unsaved row of defaults."""
    return _CURRENT.first() or SystemSettings(pk=_ONLY_ROW)


@revisions.one_at_a_time
def change(*, actor: str, **values: Any) -> SystemSettings:
    """Change these settings, with a new policy revision."""
    revisions.advance(Segment.SETTINGS, actor=actor, changes=[write(values)])
    return current()


def write(values: dict[str, Any]) -> Change | None:
    """Write these settings in a service that holds the policy lock; return the change."""
    settings, _ = SystemSettings.objects.select_for_update().get_or_create(pk=_ONLY_ROW)
    before = describe(settings)
    for name, value in values.items():
        setattr(settings, name, value)
    settings.save(update_fields=list(values) or None)
    return difference(before, describe(settings))


def names() -> frozenset[str]:
    """Return the names of the settings."""
    return frozenset(SystemSettings.recorded.fields)


def load() -> PolicySettings:
    """Return the settings for the decision engine."""
    row = current()
    kinds = get_type_hints(PolicySettings)  # the enum of each setting, or ``int``
    return PolicySettings(**{name: kind(getattr(row, name)) for name, kind in kinds.items()})
