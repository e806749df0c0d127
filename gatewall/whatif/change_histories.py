"""Change histories from the recorded revisions: between two of them, and of the last ones."""

from typing import Any

from gatewall.models import PolicyRevision
from gatewall.replay.change_history import ChangeHistory

MAX_REVISIONS = 500
"""After more revisions than this, everything counts as changed."""


def changes_between(recorded: int, revision: int) -> ChangeHistory:
    """Return the changes between the policy of a record and that of a revision, which may be the earlier one.

    If any change between them is unknown, everything counts as changed.
    """
    first, last = sorted((recorded, revision))
    rows = list(
        PolicyRevision.objects.filter(number__gt=first, number__lte=last)
        .order_by("number")
        .values_list("changes", "counts")[: MAX_REVISIONS + 1]
    )
    is_known = len(rows) == last - first <= MAX_REVISIONS
    history = ChangeHistory(known_from=recorded if is_known else recorded + 1, newest=recorded + 1)
    for changes, counts in rows:
        history.add(recorded + 1, changes, counts)
    return history


def recent_history(newest: int, number: int = MAX_REVISIONS) -> ChangeHistory:
    """Return the changes of the last ``number`` revisions, back to the first gap in their numbers."""
    rows = PolicyRevision.objects.filter(number__gt=newest - number, number__lte=newest).order_by("-number")
    recent: list[tuple[int, Any, Any]] = []
    for record in rows.values_list("number", "changes", "counts").iterator(chunk_size=20):
        if record[0] != newest - len(recent):
            break
        recent.append(record)
    history = ChangeHistory(known_from=newest - len(recent), newest=newest)
    for record in reversed(recent):
        history.add(*record)
    return history
