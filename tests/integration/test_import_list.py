"""``gatewall import-list``: a published block list replaces its earlier version atomically."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gatewall.kernel.clientip import TrustedProxies
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import services
from policies.lists import importing
from policies.models import BlocklistEntry
from tests.support.lists import networks, refusal

pytestmark = pytest.mark.django_db


SPAMHAUS = "; Spamhaus DROP List 2026/11/21\n; Last-Modified: Sat\n1.10.16.0/20 ; SBL256894\n1.19.0.0/16 ; SBL434604\n"
SPAMHAUS_JSON = (
    '{"cidr":"1.10.16.0/20","sblid":"SBL256894","rir":"apnic"}\n'
    '{"cidr":"1.19.0.0/16","sblid":"SBL434604","rir":"apnic"}\n'
    '{"type":"metadata","timestamp":1700000000,"size":2,"records":2,"copyright":"(c)"}\n'
)
FIREHOL = "#\n# firehol_level1\n#\n0.0.0.0/8\n1.10.16.0/20\n10.0.0.0/8\n1.19.0.0/16\n127.0.0.0/8\n224.0.0.0/3\n"
TOR = (
    "ExitNode 0011BD2485AD45D984EC4159C88FC066E5E3300E\nPublished 2026-11-20 04:03:30\n"
    "LastStatus 2026-11-20 05:00:00\nExitAddress 162.247.74.201 2026-11-20 05:04:10\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SPAMHAUS, ["1.10.16.0/20", "1.19.0.0/16"]),
        (SPAMHAUS_JSON, ["1.10.16.0/20", "1.19.0.0/16"]),
        (FIREHOL, ["1.10.16.0/20", "1.19.0.0/16"]),
        (TOR, ["162.247.74.201"]),
        ("162.247.74.201\r\n2001:DB8::1\r\n", ["162.247.74.201", "2001:db8::1"]),
        ("ip,comment\n1.2.3.4,scanner\n", ["1.2.3.4"]),
        ("network\n1.2.3.0/24\n", ["1.2.3.0/24"]),
        ('"comment","cidr"\n"a, b","::ffff:1.2.3.4"\n', ["1.2.3.4"]),
        ("\ufeff1.2.3.4 # with a mark in front\n", ["1.2.3.4"]),
    ],
    ids=["Spamhaus", "Spamhaus JSON", "FireHOL", "Tor", "bulk", "CSV", "one column", "quoted", "BOM"],
)
def test_a_published_format_is_understood(import_list, text, expected):
    import_list(text)

    assert networks() == expected


def test_comments_become_remarks(import_list):
    import_list(SPAMHAUS)
    assert BlocklistEntry.objects.get(network="1.19.0.0/16").remark == "SBL434604"

    import_list(SPAMHAUS_JSON, name="json")
    assert set(BlocklistEntry.objects.filter(source="import:json").values_list("remark", flat=True)) == {
        "SBL256894",
        "SBL434604",
    }


def test_a_remark_is_cut_to_the_length_of_the_column(import_list):
    import_list(b"1.2.3.4 # a\0b\x1bc \xff " + b"d" * 600)

    remark = BlocklistEntry.objects.get().remark
    assert remark.startswith("a b c \ufffd d")
    assert len(remark) <= 500


def test_the_gate_refuses_imported_networks(import_list, auth):
    import_list("198.51.100.0/24")

    assert auth().verdict == (403, "client-blocked")


def test_the_allowlist_wins_over_an_import(import_list, auth):
    services.allow_network(actor="alice", network="198.51.0.0/16")
    import_list("198.51.100.7")

    assert auth().verdict == (200, "client-allowed")


def test_an_import_replaces_the_entries_of_its_own_list_alone(import_list):
    services.block_network(actor="alice", network="9.9.9.9")
    import_list("8.8.8.8", name="other")
    import_list("1.1.1.1\n2.2.2.2")
    kept = BlocklistEntry.objects.get(network="2.2.2.2")

    said = import_list("2.2.2.2\n3.3.3.3")

    assert networks() == ["2.2.2.2", "3.3.3.3"]
    assert BlocklistEntry.objects.get(network="2.2.2.2").pk == kept.pk
    assert (networks("manual"), networks("import:other")) == (["9.9.9.9"], ["8.8.8.8"])
    assert said.splitlines()[:3] == ["+ 3.3.3.3", "- 1.1.1.1", "1 added, 1 removed, 0 changed, 1 kept, 0 dropped"]


def test_one_import_is_one_revision_and_an_equal_list_makes_no_revision(import_list):
    before = revisions.current().revision
    import_list(SPAMHAUS)

    said = import_list(SPAMHAUS.replace("\n", "\n# again\n"))

    assert revisions.current().revision == before + 1
    assert "no new revision" in said


def test_only_rows_that_change_are_written(import_list, django_assert_max_num_queries):
    import_list("".join(f"1.2.{number // 200}.{number % 200}\n" for number in range(1500)))
    stamps = dict(BlocklistEntry.objects.values_list("network", "pk"))

    with django_assert_max_num_queries(40):
        import_list("".join(f"1.2.{number // 200}.{number % 200}\n" for number in range(1, 1501)))

    after = dict(BlocklistEntry.objects.values_list("network", "pk"))
    assert len(after) == 1500
    assert {network for network in after if after[network] != stamps.get(network)} == {"1.2.7.100"}


def test_a_remark_that_changed_is_written(import_list):
    import_list("1.2.3.4 # a")
    pk = BlocklistEntry.objects.get().pk

    said = import_list("1.2.3.4 # b")

    assert BlocklistEntry.objects.values_list("pk", "remark").get() == (pk, "b")
    assert "1 changed, 0 kept" in said


def test_rows_equal_those_that_the_service_writes(import_list):
    before = timezone.now()

    import_list("1.2.3.4")

    entry = BlocklistEntry.objects.get()
    entry.full_clean()
    assert (entry.created_by, entry.source, entry.expires_at) == ("import", "import:drop", None)
    assert before <= entry.created_at <= timezone.now()


EXPIRES = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        f"ip,expires\n1.2.3.4,{EXPIRES.isoformat()}\n",
        f"ip,expires_at\n1.2.3.4,{EXPIRES.timestamp():.0f}\n",
        json.dumps({"ip": "1.2.3.4", "expires": "2031-05-06T07:08:09Z"}),
        json.dumps({"ip": "1.2.3.4", "expires": int(EXPIRES.timestamp())}),
        json.dumps({"ip": "1.2.3.4", "expires": "2031-05-06T09:08:09.500+02:00"}),
    ],
)
def test_an_entry_expires_at_the_time_in_the_list(import_list, text):
    import_list(text, "--expires-in-days", "7")
    assert BlocklistEntry.objects.get().expires_at == EXPIRES

    assert "no new revision" in import_list(text, "--expires-in-days", "7")


def test_an_entry_without_an_expiry_gets_that_of_the_import(import_list):
    import_list("ip,expires\n1.2.3.4,\n", "--expires-in-days", "7")

    left = BlocklistEntry.objects.get().expires_at - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


def test_dropped_entries_are_counted_by_reason(import_list, settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse(["192.0.2.10"])
    dropped = ["127.0.0.1", "10.1.0.0/16", "fd00::/8", "::1", "100.64.0.1", "192.0.2.0/24", "1.2.3.4"]
    expired = '{"ip": "4.4.4.4", "expires": 1700000000}'

    said = import_list("1.2.3.4\n" + "\n".join(dropped))
    said_of_json = import_list('{"ip": "5.5.5.5"}\n' + expired, name="json")

    assert networks() == ["1.2.3.4"]
    assert "7 dropped (1 a trusted proxy, 5 loopback, private or reserved, 1 there twice)" in said
    assert "1 dropped (1 expired)" in said_of_json


@pytest.mark.parametrize("network", ["0.0.0.0/0", "8.0.0.0/7", "2a00::/18", "::/0", "64.0.0.0/2"])
def test_a_network_that_is_too_large_is_refused_with_its_line(import_list, network):
    assert f"line 2: {network} is larger" in str(refusal(import_list, f"1.2.3.4\n{network}\n"))
    assert networks() == []


def test_force_imports_a_large_network_unless_it_contains_our_own(import_list):
    said = import_list("8.0.0.0/7\n2a00::/18\n0.0.0.0/0\n", "--force")

    assert networks() == ["2a00::/18", "8.0.0.0/7"]
    assert "1 dropped" in said


def test_a_dry_run_prints_the_same_and_changes_nothing(import_list):
    import_list("1.1.1.1")
    before = revisions.current()

    said = import_list("2.2.2.2", "--dry-run")

    assert said.splitlines()[:2] == ["+ 2.2.2.2", "- 1.1.1.1"]
    assert (networks(), revisions.current()) == (["1.1.1.1"], before)


def test_a_list_comes_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1.2.3.4\n")))

    call_command("import_list", "-", "--name", "drop")

    assert networks() == ["1.2.3.4"]


def test_removing_a_list_needs_only_its_name(import_list, capsys):
    import_list("1.2.3.4")
    import_list("5.6.7.8", name="other")
    before = revisions.current().revision

    call_command("import_list", "--remove", "--name", "drop")

    assert (networks(), networks("import:other")) == ([], ["5.6.7.8"])
    assert revisions.current().revision == before + 1
    with pytest.raises(CommandError) as caught:
        call_command("import_list", "--remove", "--name", "drop")
    assert caught.value.returncode == 1
    assert revisions.current().revision == before + 1


def test_a_failed_import_changes_nothing(import_list, monkeypatch):
    import_list("1.1.1.1\n2.2.2.2")
    before = revisions.current()
    monkeypatch.setattr(importing.revisions, "advance", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        import_list("3.3.3.3")

    assert (networks(), revisions.current()) == (["1.1.1.1", "2.2.2.2"], before)


def changes():
    revision = PolicyRevision.objects.latest("number")
    assert revision.actor == "import"
    return revision


def test_the_revision_records_the_change_of_each_entry(import_list):
    import_list("1.1.1.1 # a\n2.2.2.2\n3.3.3.3")
    import_list("1.1.1.1 # b\n2.2.2.2\n4.4.4.4")

    told = {change["name"]: (change["action"], change["before"], change["after"]) for change in changes().changes}

    assert told["1.1.1.1"] == ("changed", {"remark": "a"}, {"remark": "b"})
    assert (told["3.3.3.3"][0], told["3.3.3.3"][1]["source"]) == ("deleted", "import:drop")
    assert (told["4.4.4.4"][0], told["4.4.4.4"][2]["source"]) == ("created", "import:drop")
    assert set(told) == {"1.1.1.1", "3.3.3.3", "4.4.4.4"}


def test_a_revision_of_very_many_entries_keeps_numbers_and_source(import_list):
    import_list("9.9.9.9 # a\n8.8.8.8")
    import_list("9.9.9.9 # b\n" + "".join(f"1.2.{number // 200}.{number % 200}\n" for number in range(1500)))

    assert changes().changes is None
    counted = {(count["action"], count.get("source")): count["count"] for count in changes().counts}
    assert counted == {("created", "import:drop"): 1500, ("deleted", "import:drop"): 1, ("changed", None): 1}

    call_command("import_list", "--remove", "--name", "drop")

    assert [(count["action"], count["count"]) for count in changes().counts] == [("deleted", 1501)]


def test_an_import_can_be_undone_by_restoring_the_revision_before(import_list, admin):
    import_list("1.1.1.1")
    before = revisions.current().revision
    import_list("2.2.2.2")

    response = admin.post(f"/policy/revisions/{before}/restore", {})

    assert response.status_code == 200, response.json()
    assert networks() == ["1.1.1.1"]
