"""Incidents: one notice at the beginning and one at the end, for any number of events in between."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.event_kinds import EventKind
from audit.events.recording import Event, EventCount, count_event, count_events, record_event, record_events
from audit.models import SecurityEvent
from gatewall.models import PolicyRevision
from gatewall.policy import system_settings
from tests.support.cast import MOMENT, an_address
from tests.support.receiver import a_webhook
from webhooks import incidents, notices, selectors, services
from webhooks.models import Delivery, Incident, Notice

pytestmark = pytest.mark.django_db
WINDOW = timedelta(minutes=15)
SUSPECTED = EventKind.CLIENT_SUSPECTED


@pytest.fixture
def hook(clock):
    """Return a webhook for severe events, with an empty outbox."""
    return a_webhook()


def tell(client="203.0.113.7", kind=SUSPECTED, **detail):
    record_event(Event(kind, client_ip=client, detail=detail))


def said():
    """Return type and number of events of every notice."""
    rows = Notice.objects.order_by("created_at", "type")
    return [(row.type, row.data["count"]) for row in rows]


def close():
    return incidents.close_ended(timezone.now())


def test_events_of_one_client_are_one_notice_until_it_is_quiet(hook, clock):
    for _ in range(5):
        tell()
        clock.shift(timedelta(minutes=10))
        close()
    assert said() == [("client.suspected", 1)]

    clock.shift(timedelta(minutes=5))
    assert (close(), close()) == (1, 0)
    assert said() == [("client.suspected", 1), ("client.suspected.ended", 5)]
    end = Notice.objects.get(type="client.suspected.ended").data
    assert end["ended_by"] == "quiet"
    assert end["first_at"] == "2026-03-14T09:26:53.000000Z"
    assert end["last_at"] == "2026-03-14T10:06:53.000000Z"
    assert end["ended_at"] == "2026-03-14T10:21:53.000000Z"
    assert end["client_ip"] == "203.0.113.7"


def test_an_incident_of_a_kind_that_a_later_release_knows_ends_too(hook, clock):
    tell()
    Incident.objects.update(kind="of.later")
    clock.shift(WINDOW)

    assert (close(), said()[-1]) == (1, ("of.later.ended", 1))


def test_an_incident_ends_only_after_the_whole_quiet_window(hook, clock):
    tell()
    clock.shift(WINDOW - timedelta(seconds=1))
    assert close() == 0
    clock.shift(1)
    assert close() == 1


def test_an_event_after_the_end_opens_a_new_incident(hook, clock):
    tell()
    clock.shift(WINDOW)
    close()
    tell()

    kinds = [kind for kind, _ in said()]
    assert sorted(kinds) == ["client.suspected", "client.suspected", "client.suspected.ended"]
    assert Incident.objects.count() == 2


def test_an_expired_incident_that_is_not_closed_yet_goes_on(hook, clock):
    tell()
    clock.shift(WINDOW * 2)
    tell()

    assert close() == 0
    assert said() == [("client.suspected", 1)]


def test_beginning_and_end_have_the_same_incident_id(hook, clock):
    tell()
    clock.shift(WINDOW)
    close()

    first, last = (row.data for row in Notice.objects.order_by("created_at"))
    assert first["incident"] == last["incident"] == str(Incident.objects.get().pk)
    assert (first["state"], last["state"]) == ("begun", "ended")


def test_clients_accounts_and_hosts_have_incidents_of_their_own(hook, bob):
    tell("203.0.113.7")
    tell("203.0.113.8")
    tell("2001:db8:1:2::1")
    tell("2001:db8:1:2::2")
    record_event(Event(EventKind.RECOVERY_REFUSED, user=bob))
    record_event(Event(EventKind.LOG_GAP, detail={"node": "a"}))
    record_event(Event(EventKind.LOG_GAP, detail={"node": "b"}))
    record_event(Event(EventKind.LOG_GAP, detail={"node": "b"}))

    assert sorted(Incident.objects.values_list("open_key", flat=True)) == [
        "client.suspected 2001:db8:1:2::/64",
        "client.suspected 203.0.113.7",
        "client.suspected 203.0.113.8",
        "log.gap node a",
        "log.gap node b",
        f"recovery.refused user {bob.pk}",
    ]
    assert Notice.objects.count() == 6


def test_each_action_of_a_user_is_a_notice_without_an_end(hook, clock, bob):
    for _ in range(3):
        record_event(Event(EventKind.TWO_FACTOR_RECOVERED, user=bob, detail={"actor": "alice"}))
    clock.shift(WINDOW)
    close()

    assert said() == [("two-factor.recovered", 1)] * 3
    data = Notice.objects.first().data
    assert (data["state"], data["incident"]) == ("single", None)
    assert data["user"] == {"id": bob.pk, "name": "Bob"}


def ban(client="203.0.113.7", *, hours=1):
    from policies import services as policies  # noqa: PLC0415

    until = timezone.now() + timedelta(hours=hours)
    entry = policies.block_network(actor="auto-ban", network=client, source="auto-ban", expires_at=until)
    expires_at = until.isoformat().replace("+00:00", "Z")
    detail = {"entry": entry.pk, "expires_at": expires_at, "detector": "rule-probing"}
    record_event(Event(EventKind.CLIENT_BANNED, client_ip=client, detail=detail))


def test_the_incident_of_a_ban_lasts_as_long_as_the_ban(hook, clock):
    ban()
    clock.shift(timedelta(minutes=59))
    assert close() == 0
    clock.shift(timedelta(minutes=1))
    assert close() == 1

    assert Notice.objects.get(type="client.banned.ended").data["ended_by"] == "ban-expired"


def test_lifting_a_ban_ends_its_incident(hook, clock):
    from policies.bans.banning import unban  # noqa: PLC0415

    ban()
    clock.shift(timedelta(minutes=5))
    unban([an_address("203.0.113.7")], actor="alice", at=timezone.now())
    assert (close(), close()) == (1, 0)

    assert Notice.objects.get(type="client.banned.ended").data["ended_by"] == "ban-lifted"


def test_the_end_goes_to_the_webhooks_that_got_the_beginning(clock):
    first = a_webhook()
    tell()
    a_webhook(name="came later")
    gone = a_webhook(name="other", kinds=["client.banned"])
    clock.shift(WINDOW)
    close()

    assert {row.webhook_id for row in Delivery.objects.all()} == {first.pk}
    assert Delivery.objects.count() == 2
    assert gone.pk != first.pk


def test_a_disabled_webhook_gets_no_notice(hook, clock):
    tell()
    services.change_webhook(hook, actor="alice", enabled=False)
    tell("203.0.113.8")
    clock.shift(WINDOW)
    close()

    assert [(row.notice.type, row.status) for row in Delivery.objects.all()] == [("client.suspected", "failed")]


def test_the_end_of_an_incident_is_sent_despite_the_hourly_limit(hook, clock):
    system_settings.change(actor="alice", webhook_notices_per_hour=1)
    tell()
    tell("203.0.113.8")
    clock.shift(WINDOW)
    close()

    assert said() == [("client.suspected", 1), ("client.suspected.ended", 1)]


@pytest.mark.parametrize("kind", EventKind)
def test_a_webhook_gets_the_kinds_and_severities_that_it_selects(kind):
    everything = services.Webhook(kinds=[], least_severity="info")
    one = services.Webhook(kinds=[kind.value], least_severity="info")
    other = services.Webhook(kinds=[next(each.value for each in EventKind if each != kind)], least_severity="info")
    worst = services.Webhook(kinds=[], least_severity="critical")

    assert [selectors.wants(each, kind) for each in (everything, one, other)] == [True, True, False]
    assert selectors.wants(worst, kind) == (kind.severity == "critical")


def test_without_a_webhook_nothing_is_written(clock):
    tell()

    assert (Incident.objects.count(), Notice.objects.count()) == (0, 0)


def test_a_flood_from_many_clients_opens_a_bounded_number(hook, monkeypatch, clock):
    monkeypatch.setattr(incidents, "MAX_OPEN", 3)
    services.change_webhook(hook, actor="alice", least_severity="low", kinds=["request.blocked"])
    blocked = [Event(EventKind.REQUEST_BLOCKED, MOMENT, f"203.0.113.{number}") for number in range(10)]
    count_events(EventCount(event, "waf-rule", 2) for event in blocked)
    count_event(Event(EventKind.REQUEST_BLOCKED, MOMENT, "198.51.100.1"), "waf-rule")

    open_now = dict(Incident.objects.values_list("open_key", "count"))
    assert open_now.pop("request.blocked others") == 15
    assert len(open_now) == 3
    assert Notice.objects.count() == 4


def test_events_recorded_together_are_one_notice_with_their_number(hook, clock):
    record_events(Event(SUSPECTED, client_ip="203.0.113.7") for _ in range(3))

    assert said() == [("client.suspected", 3)]


def test_the_end_has_the_number_of_events(clock):
    a_webhook(kinds=["login.failed"], least_severity="low")
    for number in range(4):
        count_event(Event(EventKind.LOGIN_FAILED, client_ip="203.0.113.7"), f"{number % 2}")
    clock.shift(WINDOW)
    close()

    assert said() == [("login.failed", 1), ("login.failed.ended", 4)]


def test_a_detail_that_is_too_long_is_left_out(hook):
    tell(words="x" * notices.MAX_DETAIL)

    assert Notice.objects.get().data["detail"] is None
    assert SecurityEvent.objects.get(kind=SUSPECTED).detail["words"]


def test_the_window_is_a_setting(hook, clock):
    system_settings.change(actor="alice", webhook_incident_minutes=1)
    tell()
    clock.shift(timedelta(minutes=1))

    assert close() == 1


def test_a_batch_can_extend_one_incident_and_open_others(hook):
    tell("203.0.113.1")
    record_events(Event(SUSPECTED, client_ip=f"203.0.113.{number}") for number in (1, 2, 3))

    assert sorted(Incident.objects.values_list("open_key", "count")) == [
        ("client.suspected 203.0.113.1", 2),
        ("client.suspected 203.0.113.2", 1),
        ("client.suspected 203.0.113.3", 1),
    ]
    assert said() == [("client.suspected", 1)] * 3


@pytest.mark.parametrize("kind", [SUSPECTED, EventKind.CLIENT_BANNED])
def test_an_incident_from_before_a_clock_was_set_back_ends(hook, clock, kind):
    clock.shift(timedelta(days=400))
    tell(kind=kind)
    clock.shift(timedelta(days=-400))
    tell(kind=kind)
    assert said() == [(kind, 1)]

    assert close() == 1
    tell(kind=kind)
    assert sorted(said()) == [(kind, 1), (kind, 1), (f"{kind}.ended", 2)]


def test_the_secret_path_of_a_webhook_url_is_not_sent_to_other_webhooks(clock):
    a_webhook(name="other", least_severity="low")
    chat = a_webhook("https://chat.example/services/hunter2", name="chat")
    services.change_webhook(chat, actor="alice", url="https://chat.example:8443/hunter2/new")
    services.delete_webhook(chat, actor="alice")

    told = [row.body for row in Notice.objects.order_by("created_at")][1:]  # the first is about the other webhook
    assert [(body.count("hunter2"), "https://chat.example" in body) for body in told] == [(0, True)] * 3
    assert "hunter2" not in str(list(SecurityEvent.objects.values_list("detail", flat=True)))
    assert "hunter2" in str(list(PolicyRevision.objects.values_list("changes", flat=True)))
