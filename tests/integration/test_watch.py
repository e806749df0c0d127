"""Detectors in real-life sequences: bans, events and notices. tests/proxies has some of them behind nginx."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.sign_in import events as sign_in_events
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.models import SecurityEvent
from gatewall.agent.detection import probe_of
from gatewall.kernel.clientip import UNKNOWN_CLIENT
from policies import services
from policies.models import BlocklistEntry
from tests.support.cast import MOMENT, NOW
from tests.support.proxies import PASSWORD, a_token, a_user
from tests.support.records import a_record
from tests.support.watching import CGNAT, MONITOR, SCAN, SCANNER, TOLD, VISITOR, bans, events, noticed, scan, sign_in

pytestmark = pytest.mark.django_db


def test_a_page_with_forty_images_and_no_session_causes_no_ban_and_no_notice(auth, watched, waf):
    SecurityEvent.objects.all().delete()
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/image-{number}.png").reason == "credential-missing"

    watched.look()

    assert (bans(), events(), noticed()) == ([], [], [])


def test_a_page_of_a_host_that_is_not_registered_bans_nobody(auth, watched, alice):
    services.register_domain(actor="alice", name="other.example", access="authenticated")
    SecurityEvent.objects.all().delete()
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/{number}.png").reason == "host-not-authorized"

    watched.look()

    assert (bans(), events(), noticed()) == ([], [("request.blocked", VISITOR, 41)], [])


def test_a_wrong_rule_that_refuses_every_image_bans_nobody(auth, watched):
    services.create_waf_rule(actor="alice", name="wrong", pattern="png")
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/{number}.png").reason == "waf-rule"

    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


@pytest.mark.parametrize(("scopes", "banned"), [(["code"], []), (["account", "network-24"], []), (["pair"], [VISITOR])])
def test_an_owner_delayed_by_failures_of_others_is_not_banned(watched, alice, scopes, banned):
    for _ in range(30):
        sign_in_events.locked("alice", VISITOR, timezone.now(), flow="login", scopes=scopes)

    watched.look()

    assert bans() == banned


def test_a_client_that_is_blocked_already_is_no_signal(auth, watched, waf):
    services.block_network(actor="alice", network=SCANNER)

    assert set(scan(auth, SCANNER)) == {403}
    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


def test_a_scanner_is_banned_once_until_the_ban_is_over(auth, watched, waf, clock):
    SecurityEvent.objects.all().delete()
    scan(auth, SCANNER)

    watched.look()

    (entry,) = BlocklistEntry.objects.filter(source="auto-ban")
    assert (entry.network, entry.expires_at, entry.created_by) == (SCANNER, MOMENT + timedelta(hours=1), "auto-ban")
    assert entry.remark.startswith("rule-probing: ")
    assert [kind for kind, *_ in events()] == ["request.blocked", "client.banned", "policy.changed"]
    event = SecurityEvent.objects.get(kind="client.banned")
    assert event.detail["network"] == SCANNER
    assert (event.detail["entry"], event.detail["expires_at"]) == (entry.pk, "2026-03-14T10:26:53Z")
    assert auth(x_forwarded_for=SCANNER).reason == "client-blocked"
    assert noticed() == [("client.banned", SCANNER, 1)]

    clock.shift(timedelta(hours=1, seconds=1))
    assert auth(x_forwarded_for=SCANNER).reason == "credential-missing"
    assert noticed() == [("client.banned", SCANNER, 1), ("client.banned.ended", SCANNER, 1)]


def test_a_client_that_goes_on_after_its_ban_is_banned_again(auth, watched, waf, clock):
    scan(auth, SCANNER)
    watched.look()
    clock.shift(timedelta(hours=2))
    assert noticed()[-1] == ("client.banned.ended", SCANNER, 1)
    scan(auth, SCANNER)
    watched.look()

    assert bans() == [SCANNER]
    assert len(events("client.banned")) == 2
    assert noticed() == [("client.banned", SCANNER, 1)] * 2 + [("client.banned.ended", SCANNER, 1)]


def test_a_shared_address_with_an_attacker_and_ten_good_users_is_reported_and_not_banned(auth, watched, waf):
    for number in range(10):
        token = a_token(a_user(f"user{number}"))
        assert auth(x_forwarded_for=CGNAT, service_authorization=token).status == 200
    scan(auth, CGNAT)

    watched.look()

    assert bans() == []
    assert events(*TOLD) == [("client.suspected", CGNAT, events("client.suspected")[0][2])]
    detail = SecurityEvent.objects.get(kind="client.suspected").detail
    assert (detail["why"], detail["detector"], detail["network"]) == ("good-session", "rule-probing", CGNAT)
    assert [(kind, client) for kind, client, _ in noticed()] == [("client.suspected", CGNAT)]


def test_an_attacker_at_a_shared_address_is_reported_once_an_hour(auth, watched, waf, clock):
    assert auth(x_forwarded_for=CGNAT, service_authorization=a_token(a_user("user"))).status == 200
    for _ in range(5):
        scan(auth, CGNAT)
        clock.shift(timedelta(minutes=1))
        watched.look()

    assert len(events("client.suspected")) == 1
    assert [(kind, client) for kind, client, _ in noticed()] == [("client.suspected", CGNAT)]
    clock.shift(timedelta(minutes=15))
    told = events("client.suspected")[0][2]
    assert [each for each in noticed() if each[0].endswith("ended")] == [("client.suspected.ended", CGNAT, told)]


def test_an_older_session_does_not_protect_after_a_day(auth, watched, waf, clock):
    assert sign_in(SCANNER, "bob", PASSWORD) == 401
    a_user("bob")
    assert sign_in(SCANNER, "bob", PASSWORD) == 200
    clock.shift(timedelta(days=1, minutes=10))
    scan(auth, SCANNER)
    watched.look()

    assert bans() == [SCANNER]


def test_a_whitelisted_monitor_is_never_banned(auth, watched, waf, office):
    services.allow_network(actor="alice", network="192.0.2.0/24", domain=office)
    scan(auth, MONITOR, x_forwarded_host="other.example")

    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["allowlisted"]
    assert [(kind, client) for kind, client, _ in noticed()] == [("client.suspected", MONITOR)]


def test_an_allowlisted_monitor_that_is_let_in_causes_no_event(auth, watched, waf):
    services.allow_network(actor="alice", network=MONITOR)
    SecurityEvent.objects.all().delete()

    assert set(scan(auth, MONITOR)) == {200}
    watched.look()

    assert (bans(), events(), noticed()) == ([], [], [])


@pytest.mark.parametrize(
    ("client", "why"),
    [("127.0.0.2", "loopback"), ("::1", "loopback"), (str(UNKNOWN_CLIENT), "loopback"), ("10.0.0.9", "trusted-proxy")],
)
def test_loopback_trusted_proxies_and_unknown_clients_are_never_banned(watched, client, why):
    for number in range(20):
        path, rule = f"/{number}", {"id": number % 3, "name": "rule", "action": "block"}
        watched.detection.observe(a_record(number, client_ip=client, path=path, rules=[rule], subject=None))
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == [why]


def test_a_subscriber_of_ipv6_is_banned_by_their_64(auth, watched, waf):
    for number in range(4):
        scan(auth, f"2001:db8:1:2::{number + 1}", times=1)

    watched.look()

    assert bans() == ["2001:db8:1:2::/64"]
    assert auth(x_forwarded_for="2001:db8:1:2:ffff::1").reason == "client-blocked"
    assert auth(x_forwarded_for="2001:db8:1:3::1").reason != "client-blocked"


def test_an_allowed_address_in_the_same_64_prevents_its_ban(auth, watched, waf):
    services.allow_network(actor="alice", network="2001:db8:1:2::99")
    scan(auth, "2001:db8:1:2::1")

    watched.look()

    assert bans() == []


@pytest.mark.parametrize("reason", ["credential-missing", "credential-invalid", "client-blocked", "country-blocked"])
def test_answers_for_other_reasons_are_no_signal(reason):
    assert probe_of(a_record(1, reason=reason)) is None


def test_a_cookie_that_trips_many_rules_at_every_image_bans_nobody(watched):
    for number in range(41):
        rules = [{"id": rule, "name": "rule", "action": "block"} for rule in range(8)]
        watched.detection.observe(a_record(number, client_ip=VISITOR, path=f"/{number}.png", rules=rules))
    watched.look()

    assert (bans(), events(*TOLD), noticed()) == ([], [], [])


def test_a_rule_that_is_only_monitored_is_no_rule_of_a_probe():
    rules = [{"id": 1, "name": "a", "action": "monitor"}, {"id": 2, "name": "b", "action": "block"}]

    assert probe_of(a_record(1, at=NOW, rules=rules)).rules == {2}


def test_an_event_of_another_network_does_not_protect(auth, watched, waf):
    record_event(Event(EventKind.CLIENT_BANNED, MOMENT, VISITOR))
    record_event(Event(EventKind.LOGIN_SUCCEEDED, MOMENT, VISITOR))
    scan(auth, SCANNER)
    watched.look()

    assert bans() == [SCANNER]


IMAGE = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}


def test_images_of_another_site_are_reported_and_ban_none_of_its_visitors(auth, watched, waf):
    assert scan(auth, VISITOR, **IMAGE).count(403) > 20
    watched.look()

    assert bans() == []
    told = [event.detail["why"] for event in SecurityEvent.objects.filter(kind__in=TOLD)]
    assert told == ["made-by-page"] * len(told) != []


def test_requests_made_by_a_page_do_not_add_to_those_of_the_visitor(auth, watched, waf):
    for path in SCAN[:2]:  # one path less than the limit
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=path).status == 403
    scan(auth, VISITOR, **IMAGE)
    watched.look()

    assert bans() == []


@pytest.mark.parametrize(("is_valid", "banned"), [(True, []), (False, [SCANNER])])
def test_only_a_valid_credential_turns_a_ban_for_waf_matches_into_a_report(auth, watched, waf, is_valid, banned):
    token = a_token(a_user("carol")) if is_valid else "gwa.wrong"
    answers = [auth(x_forwarded_for=SCANNER, x_forwarded_uri=path, service_authorization=token) for path in SCAN[:8]]
    watched.look()

    assert {answer.reason for answer in answers} == {"waf-rule"}  # access would also protect the address
    assert bans() == banned
    told = [event.detail.get("why") for event in SecurityEvent.objects.filter(kind=EventKind.CLIENT_SUSPECTED)]
    assert set(told) == ({"signed-in"} if is_valid else set())


def test_a_scanner_with_navigation_headers_is_banned(auth, watched, waf):
    scan(auth, SCANNER, sec_fetch_site="none", sec_fetch_mode="navigate")
    watched.look()

    assert bans() == [SCANNER]
