"""Change a policy on command: ``python -m bench.edits``, one order per line on standard input.

``ban ADDRESS``, ``disable USERNAME``, ``revoke USERNAME`` (their git token ``bench``) or ``replace NUMBER`` (of entries
of the long list). Prints the times before and after the service call, in seconds since the epoch.
"""

import sys
import time
from ipaddress import IPv4Address

import django

django.setup()

from django.db import transaction  # noqa: E402 - needs Django

from accounts import services as accounts  # noqa: E402 - needs Django
from accounts.models import User  # noqa: E402 - needs Django
from gatewall.engine.segments import blocked_networks_of  # noqa: E402 - needs Django
from gatewall.policy import revisions  # noqa: E402 - needs Django
from licensing import services as licensing  # noqa: E402 - needs Django
from licensing.models import GitToken  # noqa: E402 - needs Django
from policies import services as policies  # noqa: E402 - needs Django
from policies.models import BlocklistEntry  # noqa: E402 - needs Django

_LIST = "import:bench"
_OTHER_HALF = 0x80000000


def ban(address: str) -> None:
    """Block an address."""
    policies.block_network(actor="bench", network=address)


def disable(username: str) -> None:
    """Disable a user."""
    accounts.change_user(User.objects.get(username=username), actor="bench", is_active=False)


def revoke(username: str) -> None:
    """Revoke a user's git token."""
    licensing.revoke(GitToken.objects.get(user__username=username, name="bench"), actor="bench")


@transaction.atomic
def replace(number: str) -> None:
    """Replace this many addresses of the long list."""
    rows = list(BlocklistEntry.objects.filter(source=_LIST)[: int(number)])
    for each in rows:
        each.network = str(IPv4Address(int(IPv4Address(each.network)) ^ _OTHER_HALF))
    BlocklistEntry.objects.bulk_update(rows, ["network"], batch_size=500)
    revisions.advance(blocked_networks_of(_LIST), actor="bench", changes=[])


_ORDERS = {"ban": ban, "disable": disable, "revoke": revoke, "replace": replace}


def main() -> None:
    """Execute orders until the end of input."""
    print("ready", flush=True)  # noqa: T201 - a command
    for line in sys.stdin:
        order, value = line.split()
        began = time.time()
        _ORDERS[order](value)
        print(began, time.time(), flush=True)  # noqa: T201 - the same


if __name__ == "__main__":
    main()
