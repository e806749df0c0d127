"""``GET /security-events``: the events that each operation records."""

import json

import pytest
from django.test import Client

from accounts.sign_in import second_factor
from audit.event_kinds import EventKind, EventSeverity
from audit.events import recording
from audit.events.recording import Event, EventCount, count_event, count_events
from audit.models import SecurityEvent
from tests.support.cast import CLIENT, MOMENT
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
HOME = "203.0.113.9"


@pytest.fixture(autouse=True)
def _nothing_yet(request, clock):
    """Create the users of the test, then delete the events of their creation."""
    for name in ("alice", "bob", "admin"):
        if name in request.fixturenames:
            request.getfixturevalue(name)
    SecurityEvent.objects.all().delete()


def recorded(*kinds):
    """Return kind, count, user and client of the events of these kinds, or of all, oldest first."""
    rows = SecurityEvent.objects.order_by("id")
    rows = rows.filter(kind__in=kinds) if kinds else rows
    return [(row.kind, row.count, row.user_name, row.client_ip) for row in rows]


def sign_in(username, password=PASSWORD, path="/login", **extra):
    return Api().post(path, {"username": username, "password": password}, REMOTE_ADDR=HOME, **extra)


def test_every_kind_has_a_severity():
    assert {kind.severity for kind in EventKind} == set(EventSeverity)


def test_a_sign_in_is_recorded(bob):
    sign_in("BOB", HTTP_USER_AGENT="browser?token=gwg_secretsecretsecret")

    (event,) = SecurityEvent.objects.all()

    assert recorded() == [("login.succeeded", 1, "Bob", HOME)]
    assert event.detail["flow"] == "login"
    assert event.detail["amr"] == ["pwd"]
    assert "secretsecret" not in json.dumps(event.detail)


def test_an_admin_site_sign_in_is_recorded(alice):
    Client(REMOTE_ADDR=HOME).post("/wall/admin/login/", {"username": "alice", "password": PASSWORD})

    assert recorded() == [("login.succeeded", 1, "alice", HOME)]


def test_failures_are_grouped_by_account_and_minute(bob, clock):
    for _ in range(3):
        sign_in("bob", "wrong")
    clock.shift(60)
    sign_in("bob", "wrong")

    assert recorded() == [("login.failed", 3, "Bob", HOME), ("login.failed", 1, "Bob", HOME)]


def test_failures_of_unknown_names_are_one_row_without_the_names():
    for number in range(3):
        sign_in(f"secret-{number}", "wrong")

    (event,) = SecurityEvent.objects.all()

    assert (event.count, event.user_id, event.user_name) == (3, None, None)
    assert event.detail == {"flow": "login", "why": "invalid-credentials", "account": "unknown"}
    assert len(event.marks) == 3
    assert "secret" not in json.dumps([event.rollup, event.marks, event.detail])


def test_a_non_admin_with_the_right_password_has_its_own_reason(bob):
    sign_in("bob", path="/admin-login")
    sign_in("bob", "wrong", path="/admin-login")

    assert sorted(event.detail["why"] for event in SecurityEvent.objects.all()) == [
        "admin-required",
        "invalid-credentials",
    ]


def test_a_locked_sign_in_is_recorded_with_the_scope_of_its_count(bob):
    for _ in range(12):
        sign_in("bob", "wrong")

    assert recorded() == [("login.failed", 10, "Bob", HOME), ("login.locked", 2, "Bob", HOME)]
    assert SecurityEvent.objects.get(kind="login.locked").detail["scopes"] == ["pair"]


def test_a_wrong_code_is_recorded_and_success_only_after_the_right_one(alice):
    app = an_app(alice)
    SecurityEvent.objects.all().delete()
    challenge = sign_in("alice").json()["challenge_token"]
    assert recorded() == []

    body = {"challenge_token": challenge, "code": "000000"}
    Api().post("/login/2fa", body, REMOTE_ADDR=HOME)
    Api().post("/login/2fa", body | {"code": app.recovery_codes[0]}, REMOTE_ADDR=HOME)

    assert recorded() == [("two-factor.failed", 1, "alice", HOME), ("login.succeeded", 1, "alice", HOME)]
    assert SecurityEvent.objects.last().detail["amr"] == ["pwd", "mfa"]


def test_enabling_and_disabling_a_second_factor_is_recorded(alice):
    an_app(alice)
    second_factor.switch_off_app(alice, actor="alice")

    assert [kind for kind, *_ in recorded()] == ["two-factor.enabled", "two-factor.disabled"]


def test_disabling_a_second_factor_that_is_off_records_nothing(bob):
    with pytest.raises(second_factor.Gone):
        second_factor.switch_off_app(bob, actor="alice")

    assert recorded() == []


def test_completed_and_refused_recoveries_are_recorded(alice, settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = "the key"
    an_app(alice)
    body = {"username": "alice", "password": PASSWORD, "recovery_key": "the key"}
    Api().post("/admin-recover-2fa", body, HTTP_X_FORWARDED_FOR=HOME)
    Api().post("/admin-recover-2fa", body | {"recovery_key": "x"}, HTTP_HOST="localhost")
    Api().post("/admin-recover-2fa", body, HTTP_HOST="localhost")

    refused = SecurityEvent.objects.filter(kind="recovery.refused").order_by("id")

    assert [event.detail["why"] for event in refused] == ["recovery-local-only", "recovery-key"]
    assert [kind for kind, *_ in recorded("two-factor.recovered", "session.revoked", "user.changed")] == [
        "user.changed",
        "session.revoked",
        "two-factor.recovered",
    ]


def test_a_sign_out_is_recorded_once(bob):
    client = Api(a_token(bob))
    client.post("/logout")
    client.post("/logout")

    assert recorded() == [("session.revoked", 1, "Bob", None)]


def test_changes_are_recorded_with_actor_and_diff(admin, alice):
    admin.post("/ip-black-list", {"ip": "192.0.2.1", "remark": "why"})
    admin.put("/system/settings", {"waf_threshold": 7})
    admin.post("/users", {"username": "dora", "password": PASSWORD})

    rows = list(SecurityEvent.objects.order_by("id"))

    assert [row.kind for row in rows] == ["policy.changed", "settings.changed", "user.changed"]
    assert {row.user_id for row in rows} == {alice.pk}
    assert rows[1].detail["actor"] == "alice"
    (change,) = rows[1].detail["changes"]
    assert (change["before"], change["after"]) == ({"waf_threshold": 5}, {"waf_threshold": 7})
    assert PASSWORD not in json.dumps([row.detail for row in rows])


def test_token_events_never_contain_the_token(admin, bob):
    issued = [
        admin.post(f"/users/{bob.pk}/git-tokens", {"name": "laptop"}).json(),
        admin.post("/licenses", {"name": "farm"}).json(),
    ]
    admin.delete(f"/users/{bob.pk}/git-tokens/{issued[0]['id']}")
    admin.put(f"/licenses/{issued[1]['id']}", {"is_active": False})

    assert [kind for kind, *_ in recorded()] == ["token.issued", "token.issued", "token.revoked", "policy.changed"]
    everything = json.dumps(list(SecurityEvent.objects.values_list("detail", flat=True)))
    assert not any(each["token"] in everything for each in issued)


def test_a_change_without_effect_records_no_event(admin):
    admin.put("/system/settings", {"waf_threshold": 5})

    assert recorded() == []


def test_a_long_diff_is_in_the_revision_only(admin):
    admin.put("/system/settings", {"guard_message": "x" * 500})
    for number in range(21):
        admin.post("/authorized-domains", {"name": f"{number}.example", "force": True})
        admin.post("/ip-white-list", {"ip": "192.0.2.1", "domain": f"{number}.example"})
    SecurityEvent.objects.all().delete()
    admin.post("/policy/revisions/1/restore", {"force": True})

    rows = SecurityEvent.objects.filter(kind="policy.changed")

    assert [row.detail["changes"] for row in rows] == [None]
    assert sum(count["count"] for count in rows[0].detail["counts"]) > 20


def test_rolled_back_changes_record_no_event(admin, bob):
    response = admin.post("/ip-black-list", {"ip": "not an address"})

    assert response.status_code == 400
    assert recorded() == []


def test_events_above_the_rows_of_a_minute_are_counted_without_a_client(monkeypatch):
    monkeypatch.setattr(recording, "MAX_ROWS_A_MINUTE", 3)
    for number in range(6):
        count_event(Event(EventKind.REQUEST_BLOCKED, MOMENT, f"192.0.2.{number}"), "waf-rule")
    count_event(Event(EventKind.REQUEST_BLOCKED, MOMENT, "192.0.2.1"), "waf-rule")

    assert recorded() == [
        ("request.blocked", 1, None, "192.0.2.0"),
        ("request.blocked", 2, None, "192.0.2.1"),
        ("request.blocked", 1, None, "192.0.2.2"),
        ("request.blocked", 3, None, None),
    ]


def test_the_marks_of_a_row_are_limited(monkeypatch):
    monkeypatch.setattr(recording, "MAX_MARKS", 2)
    for number in (1, 1, 2, 3):
        count_event(Event(EventKind.LOGIN_FAILED, MOMENT, CLIENT), "unknown", mark=str(number))

    assert (SecurityEvent.objects.get().count, SecurityEvent.objects.get().marks) == (4, ["1", "2"])


def test_a_batch_is_counted_like_single_events():
    event_counts = [
        EventCount(Event(EventKind.REQUEST_BLOCKED, MOMENT, f"2001:db8::{n:x}"), "waf-rule", n) for n in range(1, 700)
    ]
    count_events(event_counts)
    count_events(event_counts[:1])

    assert SecurityEvent.objects.count() == 699
    assert SecurityEvent.objects.get(client_ip="2001:db8::1").count == 2
    assert SecurityEvent.objects.get(client_ip="2001:db8::2bb").count == 699


def test_two_counts_of_one_row_are_added():
    first, second = (MOMENT.replace(second=number) for number in (1, 9))
    count_events(
        [
            EventCount(Event(EventKind.REQUEST_BLOCKED, second, CLIENT), "waf-rule", 2),
            EventCount(Event(EventKind.REQUEST_BLOCKED, first, CLIENT), "waf-rule", 3),
        ]
    )

    row = SecurityEvent.objects.get()
    assert (row.count, row.at, row.last_at) == (5, first, second)
