"""``gatewall unban``: it lifts automatic bans, and removes no other entry."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import services
from policies.models import BlocklistEntry
from tests.support.cast import CLIENT

pytestmark = pytest.mark.django_db


def ban(network, **values):
    return services.block_network(actor="detector", network=network, source="auto-ban", **values)


def block(network, source="manual", **values):
    return services.block_network(actor="alice", network=network, source=source, **values)


def left():
    return sorted(BlocklistEntry.objects.values_list("network", "source"))


def still_blocked(*arguments):
    with pytest.raises(CommandError) as caught:
        call_command("unban", *arguments)
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def test_every_automatic_entry_that_contains_the_address_is_removed_in_one_revision(capsys):
    kept = ban("198.51.101.0/24")
    ban(CLIENT), ban("198.51.100.0/24"), ban("0.0.0.0/0", force=True)
    before = revisions.current().revision

    call_command("unban", CLIENT)

    assert left() == [(kept.network, "auto-ban")]
    assert revisions.current().revision == before + 1
    assert capsys.readouterr().out.count("removed ") == 3


def test_the_gate_lets_an_unbanned_client_in(auth, bob, wall):
    ban(CLIENT)
    assert auth().reason == "client-blocked"

    call_command("unban", CLIENT)

    assert auth(service_authorization=wall.a_token(bob)).status == 200


@pytest.mark.parametrize("text", ["2001:DB8:0::7", "::ffff:192.0.2.7"])
def test_an_address_may_be_spelled_as_its_owner_likes(text):
    ban("2001:db8::/64"), ban("192.0.2.7")

    call_command("unban", text)

    assert len(left()) == 1


@pytest.mark.parametrize("source", ["manual", "import:drop"])
def test_entries_that_still_block_stay_and_are_named(source):
    ban(CLIENT)
    entry = block("198.51.100.0/24", source)

    error = still_blocked(CLIENT)

    assert error.returncode == 1
    assert f"{CLIENT} by 198.51.100.0/24 ({source}, entry {entry.pk})" in str(error)
    assert left() == [("198.51.100.0/24", source)]


def test_an_expired_entry_does_not_block():
    block(CLIENT, expires_at=timezone.now() - timedelta(seconds=1))

    call_command("unban", CLIENT)


def test_an_import_does_not_block_an_allowlisted_address():
    block(CLIENT, "import:drop")
    services.allow_network(actor="alice", network="198.51.100.0/24")

    call_command("unban", CLIENT)


def test_every_automatic_entry_can_be_removed_at_once():
    ban(CLIENT), ban("2001:db8::/32"), block("203.0.113.9"), block("203.0.113.10", "import:drop")

    call_command("unban", "--all-automatic")

    assert left() == [("203.0.113.10", "import:drop"), ("203.0.113.9", "manual")]


def test_the_error_names_only_the_addresses_that_stay_blocked(capsys):
    ban(CLIENT), ban("203.0.113.9"), block("203.0.113.9")

    error = still_blocked(CLIENT, "203.0.113.9")

    assert "203.0.113.9" in str(error)
    assert CLIENT not in str(error)
    assert left() == [("203.0.113.9", "manual")]


def test_nothing_to_remove_is_no_revision(capsys):
    before = revisions.current().revision

    call_command("unban", CLIENT)

    assert "no automatic entry" in capsys.readouterr().out
    assert revisions.current().revision == before


def test_a_dry_run_removes_nothing(capsys):
    ban(CLIENT)
    block("198.51.100.0/24")
    before = revisions.current()

    still_blocked(CLIENT, "--dry-run")

    assert f"would remove {CLIENT}" in capsys.readouterr().out
    assert revisions.current() == before
    assert left() == [("198.51.100.0/24", "manual"), (CLIENT, "auto-ban")]


def test_the_revision_records_the_removed_ban(capsys):
    entry = ban(CLIENT)

    call_command("unban", CLIENT)

    revision = PolicyRevision.objects.latest("number")
    (change,) = revision.changes
    assert (revision.actor, change["action"], change["id"], change["name"]) == ("unban", "deleted", entry.pk, CLIENT)


@pytest.mark.parametrize("arguments", [(), ("198.51.100.0/24",), ("example.com",), (CLIENT, "010.0.0.1"), ("",)])
def test_an_invalid_address_removes_nothing(arguments):
    ban(CLIENT)

    error = still_blocked(*arguments)

    assert (error.returncode, left()) == (2, [(CLIENT, "auto-ban")])
