"""``GET /policy/revisions``: actor, time and changes, without secrets."""

import json

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts import services as accounts
from gatewall.kernel import changes
from gatewall.kernel.changes import Action, Change, Resource, ids_of
from gatewall.models import PolicyRevision
from gatewall.policy import revisions, system_settings
from licensing.models import GitToken, License
from policies import services
from policies.rules.builtin import seed_waf_rules
from tests.api.resources import KINDS, make
from tests.support.proxies import PASSWORD, a_git_token, a_license

pytestmark = pytest.mark.django_db
RECORDED = [model for model in apps.get_models() if hasattr(model, "recorded")]


def last(admin):
    """Return the last revision with its changes."""
    number = admin.get("/policy/revisions").json()["results"][0]["number"]
    return admin.get(f"/policy/revisions/{number}").json()


def the_change(admin):
    (change,) = last(admin)["changes"]
    return change


def ids_of_relations(kind):
    """Return the fields that a restore needs besides those of the API."""
    return {
        ids_of(name)
        for model in RECORDED
        if model.recorded.resource == kind.path[1:]
        for name in model.recorded.relations
    }


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_creating_is_recorded_with_every_field(admin, kind):
    (row,) = make(admin, kind)

    change = last(admin)["changes"][0] if kind.path != "/authorized-domains" else first_domain(admin)

    assert (change["resource"], change["id"], change["action"]) == (kind.path.strip("/"), row["id"], "created")
    assert change["before"] == {}
    not_recorded = {
        "id",
        "has_client_secret",
        "totp_enabled",
        "code_entry_locked",
        "country_name",
        "last_login_at",
        "session_count",
        "member_count",
        "token",
        "warnings",
    }
    not_recorded |= {"hits", "last_hit_at", "uses", "last_used_at"}
    not_recorded |= {"next_at", "tried_at", "succeeded_at", "failure", "entries"}
    not_recorded |= {"secret", "previous_until", "failing_since", "succeeded_at", "failure", "left_out"}
    assert set(row) - not_recorded == set(change["after"]) - ids_of_relations(kind)
    shown = {name: value for name, value in row.items() if name in change["after"] and name != "created_at"}
    assert {name: change["after"][name] for name in shown} == shown


def first_domain(admin):
    """Return the change of the first registration; the next revision switches the mode."""
    number = last(admin)["number"] - 1
    return admin.get(f"/policy/revisions/{number}").json()["changes"][0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.change], ids=str)
def test_changing_is_recorded_with_the_differing_fields(admin, kind):
    (row,) = make(admin, kind)

    admin.put(f"{kind.path}/{row['id']}", {kind.text: row[kind.text], **kind.change})

    change = the_change(admin)
    assert (change["action"], change["after"]) == ("changed", kind.change)
    assert change["before"] == {name: row[name] for name in kind.change}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_deleting_is_recorded_with_every_field(admin, kind):
    (row,) = make(admin, kind)
    [made] = [model.recorded.fields for model in RECORDED if model.recorded.resource == kind.path.strip("/")]

    admin.delete(f"{kind.path}/{row['id']}")

    change = the_change(admin)
    assert (change["id"], change["action"], change["after"]) == (row["id"], "deleted", {})
    assert set(change["before"]) - ids_of_relations(kind) == set(made)


def test_settings_are_recorded(admin):
    admin.put("/system/settings", {"waf_mode": "monitor", "contact": ""})

    change = the_change(admin)
    assert (change["resource"], change["before"], change["after"]) == (
        "system/settings",
        {"waf_mode": "block"},
        {"waf_mode": "monitor"},
    )


def test_a_revision_records_actor_time_and_counts(admin):
    before = timezone.now()

    admin.post("/geo-block-rules", {"country_code": "NZ"})

    revision = last(admin)
    assert revision["actor"] == "alice"
    assert revision["counts"] == [{"resource": "geo-block-rules", "action": "created", "count": 1}]
    assert before.strftime("%Y-%m-%dT%H:%M:%SZ") <= revision["committed_at"]
    assert revision["number"] == revisions.current().revision


def test_a_change_that_changes_nothing_is_an_empty_revision(admin):
    (row,) = make(admin, KINDS[1])

    admin.put(f"/ip-black-list/{row['id']}", {"remark": row["remark"]})

    assert (last(admin)["changes"], last(admin)["counts"]) == ([], [])


def test_rows_deleted_with_a_domain_are_recorded(admin, office):
    entry = services.allow_network(actor="alice", network="203.0.113.7", domain=office)
    rule = services.create_waf_rule(actor="alice", name="mine", pattern="x", domain=office)
    seed_waf_rules(actor="seed")
    builtin = type(rule).objects.get(builtin_key="xss-script-tag")
    services.change_waf_rule(builtin, actor="alice", domain=office)
    person = accounts.create_user(actor="alice", username="dora", password=PASSWORD, authorized_domains=[office])
    a_license(authorized_domains=[office])

    admin.delete(f"/authorized-domains/{office.pk}")

    told = {(change["resource"], change["id"]): change for change in last(admin)["changes"]}
    assert {key: change["action"] for key, change in told.items()} == {
        ("authorized-domains", office.pk): "deleted",
        ("ip-white-list", entry.pk): "deleted",
        ("waf-rules", rule.pk): "deleted",
        ("waf-rules", builtin.pk): "changed",
        ("users", person.pk): "changed",
        ("licenses", License.objects.get().pk): "changed",
    }
    assert told["ip-white-list", entry.pk]["before"]["domain"] == "office.example"
    assert told["waf-rules", builtin.pk]["after"] == {"domain": None, "enabled": False}
    assert told["users", person.pk]["before"] == {"authorized_domains": ["office.example"]}
    assert told["users", person.pk]["after"] == {"authorized_domains": []}


def test_the_git_tokens_that_go_with_a_user_are_recorded(admin, bob):
    a_git_token(bob)
    token = GitToken.objects.get()

    admin.delete(f"/users/{bob.pk}")

    told = {(change["resource"], change["id"]): change["action"] for change in last(admin)["changes"]}
    assert told == {("users", bob.pk): "deleted", ("users/git-tokens", token.pk): "deleted"}


def test_the_entry_that_was_replaced_is_recorded(admin):
    old = services.block_network(actor="alice", network="203.0.113.7", expires_at=timezone.now())

    new = admin.post("/ip-black-list", {"ip": "203.0.113.7"}).json()

    told = {(change["id"], change["action"]) for change in last(admin)["changes"]}
    assert told == {(old.pk, "deleted"), (new["id"], "created")}


def test_a_new_password_is_recorded_without_the_password(admin, bob):
    admin.put(f"/users/{bob.pk}", {"password": f"{PASSWORD} 2"})

    change = the_change(admin)
    assert (change["before"], change["after"]) == ({}, {"password": "changed"})


def test_no_revision_row_holds_a_secret(admin, bob):
    git = admin.post(f"/users/{bob.pk}/git-tokens", {"name": "laptop"}).json()["token"]
    machine = admin.post("/licenses", {"name": "robot"}).json()["token"]
    admin.put(f"/users/{bob.pk}", {"password": f"{PASSWORD} 2"})
    bob.refresh_from_db()
    digests = [GitToken.objects.get().digest, License.objects.get().digest]
    admin.delete(f"/licenses/{License.objects.get().pk}")
    admin.delete(f"/users/{bob.pk}")

    rows = json.dumps(list(PolicyRevision.objects.values("actor", "changes", "counts", "resources")))

    assert '"laptop"' in rows
    for secret in (git, machine, git[4:20], machine[4:20], *digests, PASSWORD, bob.password):
        assert secret not in rows


def test_no_secret_field_is_recorded():
    named = {attribute for model in RECORDED for attribute in model.recorded.fields.values()}

    assert named.isdisjoint({"password", "digest", "token", "session_version"})
    assert not [name for name in system_settings.names() if any(word in name for word in ("secret", "_key", "token"))]


def test_logins_make_no_revision(anonymous, bob):
    before = revisions.current().revision

    token = anonymous.post("/login", {"username": "bob", "password": PASSWORD}).json()["token"]
    anonymous.post("/logout", headers={"Service-Authorization": token})

    assert revisions.current().revision == before


def test_newest_first_and_the_other_way_round(admin):
    make(admin, KINDS[1], 3)

    newest = [row["number"] for row in admin.get("/policy/revisions").json()["results"]]
    oldest = [row["number"] for row in admin.get("/policy/revisions", {"ordering": "number"}).json()["results"]]

    assert newest == sorted(newest, reverse=True)
    assert oldest == newest[::-1]


def test_the_list_is_paged_and_has_no_diffs(admin):
    make(admin, KINDS[1], 3)

    body = admin.get("/policy/revisions", {"page_size": 2}).json()

    assert body["count"] == revisions.current().revision
    assert [set(row) for row in body["results"]] == [{"number", "committed_at", "actor", "counts"}] * 2
    assert "page=2" in body["next"]


def test_filters(admin, alice):
    make(admin, KINDS[1])
    services.block_country(actor="import", country_code="NZ")

    def numbers(**parameters):
        return [row["number"] for row in admin.get("/policy/revisions", parameters).json()["results"]]

    head = revisions.current().revision
    assert numbers(actor="import") == [head]
    assert numbers(resource="ip-black-list") == [head - 1]
    assert numbers(resource="users", actor="cast") == [head - 2]
    assert numbers(resource="users", actor="import") == []
    assert admin.get("/policy/revisions", {"actor": "\0"}).status_code == 400


@pytest.mark.parametrize(
    "parameters",
    [{"resource": "nothing"}, {"resource": ""}, {"ordering": "actor"}, {"colour": "red"}, {"search": "x"}],
)
def test_unknown_parameters_are_refused(admin, parameters):
    assert admin.get("/policy/revisions", parameters).status_code == 400


@pytest.mark.parametrize("number", ["0", "999", "9" * 18, "9" * 19, "x", "-1", "1.0", "1/", "\u0661"])
def test_an_invalid_revision_number_is_not_found(admin, number):
    assert admin.get(f"/policy/revisions/{number}").status_code == 404
    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 404


def test_a_revision_from_before_changes_were_recorded_stays_readable(admin):
    PolicyRevision.objects.filter(number=1).update(actor="", changes=None, counts=None, resources="")

    shown = admin.get("/policy/revisions/1").json()

    assert (shown["actor"], shown["counts"], shown["changes"]) == ("", None, None)
    assert admin.get("/policy/revisions").status_code == 200


@pytest.mark.parametrize(("number", "kept"), [(changes.MAX_CHANGES, True), (changes.MAX_CHANGES + 1, False)])
def test_a_diff_of_too_many_objects_is_counts_and_source(admin, number, kept):
    made = (
        Change("ip-black-list", id_, f"192.0.2.{id_}", Action.CREATED, {}, {"source": "import:feed"})
        for id_ in range(number)
    )

    with transaction.atomic():
        revisions.advance(actor="import", changes=made)

    shown = last(admin)
    assert (shown["changes"] is not None) is kept
    assert shown["counts"] == [
        {"resource": "ip-black-list", "source": "import:feed", "action": "created", "count": number}
    ]


def test_the_names_of_the_resources_are_paths_of_the_api():
    assert {kind.path.strip("/") for kind in KINDS} <= set(Resource)
