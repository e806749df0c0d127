"""Read the order of access rules."""

from policies.models import AccessRule


def the_order():
    """Return the names of all rules in order; assert that their positions have no gaps."""
    rows = list(AccessRule.objects.values_list("position", "name"))
    assert [position for position, _ in rows] == list(range(1, len(rows) + 1))
    return "".join(name for _, name in rows)
