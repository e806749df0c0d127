"""Fill an installation with networks, rules, users and tokens: ``python -m bench.filled ...``.

Rows are inserted in bulk, without the services, and the whole policy is published again. Prints ``--known`` lines with
a session and a git token, or ``--sessions`` lines with a session; the sessions' users are spread over all shards.
"""

import argparse
import random
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Address
from itertools import cycle, islice

import django

django.setup()

from django.utils import timezone  # noqa: E402 - needs Django

from accounts import tokens  # noqa: E402 - needs Django
from accounts.models import User  # noqa: E402 - needs Django
from gatewall.credentials.machine import GIT_TOKEN_PREFIX, new_token  # noqa: E402 - needs Django
from gatewall.policy import revisions, system_settings  # noqa: E402 - needs Django
from licensing.models import GitToken  # noqa: E402 - needs Django
from policies.models import BlocklistEntry, WafRule  # noqa: E402 - needs Django

_FIRST, _LAST = int(IPv4Address("11.0.0.0")), int(IPv4Address("99.255.255.255"))
_BATCH = 5000


def main() -> None:
    """Fill the installation of this environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waf", default="block", help="its mode")
    for name in ("networks", "rules", "users", "sessions", "known"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="print sessions of an installation that is filled already")
    options = parser.parse_args()
    if options.again:
        _print_sessions([(user, "") for user in User.objects.filter(username__startswith="many")], options.sessions)
        return
    _fill_networks(options.networks)
    _fill_rules(options.rules)
    git_tokens = _fill_users(options.users)
    system_settings.change(actor="bench", waf_mode=options.waf)
    _publish()
    for session, git_token in _credentials(git_tokens, options.known):
        print(session, git_token)  # noqa: T201 - a command
    _print_sessions(git_tokens, options.sessions)


def _print_sessions(users: list[tuple[User, str]], number: int) -> None:
    for session, _ in _credentials(users, number):
        print(session)  # noqa: T201 - the same


def _fill_networks(number: int) -> None:
    chosen = random.Random(1).sample(range(_FIRST, _LAST), number)  # noqa: S311 - examples, no secrets
    rows = (BlocklistEntry(network=str(IPv4Address(each)), source="import:bench") for each in chosen)
    BlocklistEntry.objects.bulk_create(rows, batch_size=_BATCH)


def _fill_rules(number: int) -> None:
    words = random.Random(2)  # noqa: S311 - examples, no secrets
    rules = [
        WafRule(
            name=f"bench {each}",
            pattern=rf"(?i)\b{words.getrandbits(48):x}[0-9]+\.{words.getrandbits(32):x}\b",
            operator="regex",
            targets=["uri", "user-agent"],
            category="custom",
            score=5,
            action="block",
        )
        for each in range(number)
    ]
    WafRule.objects.bulk_create(rules, batch_size=_BATCH)


def _fill_users(number: int) -> list[tuple[User, str]]:
    """Create this many users with a git token each; return users and token texts."""
    User.objects.bulk_create(
        [User(username=f"many{each}", email=f"many{each}@example.com", password="!") for each in range(number)],
        batch_size=_BATCH,
    )
    has = [(user, new_token(GIT_TOKEN_PREFIX)) for user in User.objects.order_by("id")]
    rows = [GitToken(user_id=user.pk, name="bench", prefix=each.prefix, digest=each.digest) for user, each in has]
    GitToken.objects.bulk_create(rows, batch_size=_BATCH)
    return [(user, f"{user.username}:{token.text}") for user, token in has]


def _publish() -> None:
    revisions.demand_reload()  # bulk inserts changed no segment; without an agent, this publishes
    if revisions.publication_is_pending():
        raise SystemExit("the policy was not published")


def _credentials(git_tokens: list[tuple[User, str]], number: int) -> Iterator[tuple[str, str]]:
    now, long = timezone.now(), timedelta(hours=6)
    chosen = random.Random(3).sample(git_tokens, min(number, len(git_tokens)))  # noqa: S311 - examples, no secrets
    for user, git_token in islice(cycle(chosen), number):
        session = tokens.issue(
            user_id=user.pk,
            session_version=user.session_version,
            audiences=("gate",),
            amr=("pwd",),
            at=now,
            lifetime=long,
        )
        yield session.text, git_token


if __name__ == "__main__":
    main()
