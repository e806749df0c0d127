"""Hits and uses: counted from the gate's answers, shown with the row, but not part of it."""

import io
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.models import UseCount
from audit.storage import ingest
from gatewall.agent import housekeeping
from gatewall.publication.resources import LOGGED
from policies import services
from policies.models import BlocklistEntry
from tests.api.resources import KINDS, make
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_license

pytestmark = pytest.mark.django_db

COUNTED = {
    "/ip-black-list": ("ip-black-list", "hits", "last_hit_at"),
    "/ip-white-list": ("ip-white-list", "hits", "last_hit_at"),
    "/waf-rules": ("waf-rules", "hits", "last_hit_at"),
    "/access-rules": ("access-rules", "hits", "last_hit_at"),
    "/geo-block-rules": ("geo-block-rules", "hits", None),
    "/licenses": ("license", "uses", "last_used_at"),
}
COUNTED_KINDS = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.path in COUNTED], ids=str)
ATTACK = {"name": "attack", "pattern": "attack"}


@pytest.fixture
def gate(auth, settings):
    """Return a function that asks the gate and ships its record to the database."""

    def ask(**headers):
        answer = auth(**headers)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return answer

    return ask


def use(kind, row_id, count=5, at=None):
    return UseCount.objects.create(kind=kind, row_id=row_id, count=count, last_at=at or timezone.now())


def seconds_ago(moment):
    return (timezone.now() - datetime.fromisoformat(moment)).total_seconds()


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/ip-black-list", {"ip": CLIENT}, "client-blocked"),
        ("/ip-white-list", {"ip": CLIENT}, "client-allowed"),
        ("/waf-rules", {**ATTACK}, "waf-rule"),
        ("/access-rules", {"name": "open", "access": "public"}, "path-public"),
        ("/waf-rules", {**ATTACK, "action": "monitor"}, "credential-missing"),
    ],
)
def test_a_row_that_decides_or_matches_is_hit(admin, gate, path, body, reason):
    made = admin.post(path, body).json()
    for _ in range(2):
        assert gate(x_forwarded_uri="/attack").reason == reason

    shown = admin.get(f"{path}/{made['id']}").json()

    assert (made["hits"], made["last_hit_at"]) == (0, None)
    assert shown["hits"] == 2
    assert seconds_ago(shown["last_hit_at"]) < 60
    assert admin.get(path).json()["results"][-1] == shown


def test_an_imported_entry_is_hit(admin, gate, tmp_path):
    (tmp_path / "list").write_text(f"{CLIENT}\n")
    call_command("import_list", str(tmp_path / "list"), "--name", "drop", stdout=io.StringIO())

    assert gate().reason == "client-blocked"

    (entry,) = admin.get("/ip-black-list").json()["results"]
    assert (entry["source"], entry["hits"]) == ("import:drop", 1)


def test_a_license_is_used(admin, gate):
    for name in ("build farm", "other"):
        assert gate(service_license=a_license(name)).reason == "license-valid"

    (license_, _other) = admin.get("/licenses").json()["results"]
    assert license_["uses"] == 1
    assert seconds_ago(license_["last_used_at"]) < 60


def test_a_git_token_is_used(admin, gate, bob):
    path = f"/users/{bob.pk}/git-tokens"
    made = admin.post(path, {"name": "laptop"}).json()
    assert made["last_used_at"] is None
    assert gate(service_git_token=f"Bob:{made['token']}").reason == "git-token-valid"

    (shown,) = admin.get(path).json()["results"]

    assert seconds_ago(shown["last_used_at"]) < 60
    assert admin.get(f"{path}/{made['id']}").json() == shown


def test_a_page_costs_one_query_more_however_many_rows_it_has(admin, django_assert_num_queries):
    for kind in KINDS:
        if kind.path in COUNTED:
            for row in make(admin, kind, 5):
                use(COUNTED[kind.path][0], row["id"])
            with django_assert_num_queries(kind.queries):
                shown = admin.get(kind.path).json()["results"]
            assert [row[COUNTED[kind.path][1]] for row in shown] == [5] * 5


@COUNTED_KINDS
def test_uses_are_counted_by_kind_and_id(admin, kind):
    first, second = make(admin, kind, 2)
    name, count, last = COUNTED[kind.path]
    use(name, second["id"])
    use("something-else", first["id"])

    shown = {row["id"]: row for row in admin.get(kind.path).json()["results"]}

    assert (shown[first["id"]][count], shown[second["id"]][count]) == (0, 5)
    assert last is None or shown[first["id"]][last] is None


@COUNTED_KINDS
def test_a_hit_does_not_make_a_conditional_write_stale(admin, kind):
    row = make(admin, kind)[0]
    path = f"{kind.path}/{row['id']}"
    before = admin.get(path).headers["ETag"]
    use(COUNTED[kind.path][0], row["id"])

    assert admin.get(path, headers={"If-None-Match": before}).status_code == 200
    if kind.change:
        assert admin.put(path, kind.change, headers={"If-Match": before}).status_code == 200
    assert admin.delete(path, headers={"If-Match": admin.get(path).headers["ETag"]}).status_code == 204


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.path in COUNTED and kind.change], ids=str)
def test_counters_can_be_sent_back_and_never_set(admin, kind):
    row = make(admin, kind)[0]
    path = f"{kind.path}/{row['id']}"
    _name, count, last = COUNTED[kind.path]
    use(COUNTED[kind.path][0], row["id"])

    changed = admin.put(path, {**kind.change, count: 99, last: None}).json()

    assert changed[count] == 5
    assert admin.post(kind.path, {**kind.body(1), count: 99}).status_code == 400


@COUNTED_KINDS
def test_a_new_row_never_gets_the_number_of_a_deleted_one(admin, kind):
    """Without AUTOINCREMENT, SQLite would reuse the id, and the new row would have the old row's counts."""
    old = make(admin, kind)[0]
    use(COUNTED[kind.path][0], old["id"])
    admin.delete(f"{kind.path}/{old['id']}")

    new = make(admin, kind)[0]

    assert new["id"] > old["id"]
    assert new[COUNTED[kind.path][1]] == 0


def test_a_row_that_is_brought_back_has_its_hits_again(admin):
    row = make(admin, KINDS[1])[0]
    use("ip-black-list", row["id"])
    revision = admin.get("/policy/revisions").json()["results"][0]["number"]
    admin.delete(f"/ip-black-list/{row['id']}")
    housekeeping.tidy(timezone.now())

    assert admin.post(f"/policy/revisions/{revision}/restore").status_code == 200
    assert admin.get(f"/ip-black-list/{row['id']}").json()["hits"] == 5


def test_uses_of_deleted_rows_go_after_a_month(admin, alice):
    there = services.block_network(actor="alice", network="203.0.113.9")
    now = timezone.now()
    kept = [
        use("ip-black-list", there.pk, at=now - timedelta(days=99)),
        use("user", alice.pk, at=now - timedelta(days=99)),
        use("ip-black-list", 999, at=now - timedelta(days=29)),
    ]
    for kind in LOGGED:
        use(kind, 777_777, at=now - timedelta(days=31))

    deleted = housekeeping.tidy(now)

    assert deleted == len(LOGGED)
    left = UseCount.objects.exclude(row_id=0)  # without the counters of metrics
    assert set(left.values_list("pk", flat=True)) == {row.pk for row in kept}
    assert BlocklistEntry.objects.count() == 1


def test_every_kind_that_is_shown_is_pruned():
    assert {name for name, *_ in COUNTED.values()} | {"git-token"} <= set(LOGGED)


def test_an_unregistered_host_counts_no_hit(gate):
    gate(x_forwarded_host=OFFICE)

    assert not UseCount.objects.exists()


def test_waf_rules_are_ordered_by_their_hits(admin):
    few, none, many = (
        admin.post("/waf-rules", {"name": name, "pattern": name}).json()["id"] for name in ("few", "none", "many")
    )
    use("waf-rules", few, count=2)
    use("waf-rules", many, count=30)

    most = [row["id"] for row in admin.get("/waf-rules?ordering=-hits").json()["results"][:2]]
    least = [row["hits"] for row in admin.get("/waf-rules?ordering=hits&all=true").json()["results"]]

    assert most == [many, few]
    assert least == sorted(least)
    assert none not in most
