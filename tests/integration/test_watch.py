"""Real-life sequences: who is banned, who is not, and what is told. tests/proxies has some of them behind nginx."""

from datetime import timedelta

import pytest

from accounts import sign_in_events
from audit.event_kinds import EventKind
from audit.events import Event, Tally, count_events, record_event
from audit.models import SecurityEvent
from gatewall import system_settings
from gatewall.clientip import UNKNOWN_CLIENT
from gatewall.shipping.watch import probe_of
from policies import banning, services
from policies.builtin_rules import seed_waf_rules
from policies.models import BlocklistEntry
from policies.unbanning import unban
from tests.cast import MOMENT, NOW, an_address
from tests.records import a_record
from tests.wall import PASSWORD, a_token, a_user
from tests.watching import PROXY, Watched, bans, events, sign_in

pytestmark = pytest.mark.django_db
VISITOR, SCANNER, CGNAT, MONITOR = "198.51.100.20", "203.0.113.66", "100.64.7.7", "192.0.2.53"
SCAN = (
    *("/.git/config", "/.env", "/../../etc/passwd", "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"),
    *("/wp-config.php", "/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/?x=;cat%20/etc/passwd", "/.svn/entries"),
    *("/?u=http://169.254.169.254/latest/meta-data/", "/phpmyadmin/", "/.aws/credentials", "/backup.sql", "/.htpasswd"),
)
TOLD = ("client.banned", "client.suspected", "attack.detected")


@pytest.fixture(autouse=True)
def _at_the_moment(clock, settings):
    settings.GATEWALL_TRUSTED_PROXIES = type(settings.GATEWALL_TRUSTED_PROXIES).parse([PROXY, "10.0.0.0/24"])
    return clock


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path / "spool")


@pytest.fixture
def waf(db):
    seed_waf_rules(actor="seed")


@pytest.fixture
def another_agent(tmp_path):
    return Watched(tmp_path / "spool")


def scan(auth, client, times=4, **headers):
    """Look for what is not to be found; the statuses."""
    paths = [path if not number else f"/{number}{path}" for number in range(times) for path in SCAN]
    return [auth(x_forwarded_for=client, x_forwarded_uri=path, **headers).status for path in paths]


def test_a_page_with_forty_images_and_no_session_bans_nobody_and_is_told_to_nobody(auth, watched, waf):
    SecurityEvent.objects.all().delete()
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/image-{number}.png").reason == "credential-missing"

    watched.look()

    assert (bans(), events()) == ([], [])


def test_a_page_of_a_host_that_is_not_registered_bans_nobody(auth, watched, alice):
    services.register_domain(actor="alice", name="other.example", access="authenticated")
    SecurityEvent.objects.all().delete()
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/{number}.png").reason == "host-not-authorized"

    watched.look()

    assert (bans(), events()) == ([], [("request.blocked", VISITOR, 41)])


def test_a_wrong_rule_that_refuses_every_image_bans_nobody(auth, watched):
    services.create_waf_rule(actor="alice", name="wrong", pattern="png")
    for number in range(41):
        assert auth(x_forwarded_for=VISITOR, x_forwarded_uri=f"/{number}.png").reason == "waf-rule"

    watched.look()

    assert (bans(), events(*TOLD)) == ([], [])


def test_a_client_that_is_blocked_already_is_no_signal(auth, watched, waf):
    services.block_network(actor="alice", network=SCANNER)

    assert set(scan(auth, SCANNER)) == {403}
    watched.look()

    assert (bans(), events(*TOLD)) == ([], [])


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

    clock.shift(timedelta(hours=1, seconds=1))
    assert auth(x_forwarded_for=SCANNER).reason == "credential-missing"


def test_whoever_goes_on_after_his_ban_is_banned_again(auth, watched, waf, clock):
    scan(auth, SCANNER)
    watched.look()
    clock.shift(timedelta(hours=2))
    scan(auth, SCANNER)
    watched.look()

    assert bans() == [SCANNER]
    assert len(events("client.banned")) == 2


def test_a_shared_address_with_an_attacker_and_ten_good_users_is_not_banned_and_told(auth, watched, waf):
    for number in range(10):
        token = a_token(a_user(f"user{number}"))
        assert auth(x_forwarded_for=CGNAT, service_authorization=token).status == 200
    scan(auth, CGNAT)

    watched.look()

    assert bans() == []
    assert events(*TOLD) == [("client.suspected", CGNAT, events("client.suspected")[0][2])]
    detail = SecurityEvent.objects.get(kind="client.suspected").detail
    assert (detail["why"], detail["detector"], detail["network"]) == ("good-session", "rule-probing", CGNAT)


def test_an_attacker_at_a_shared_address_is_told_once_an_hour(auth, watched, waf, clock):
    assert auth(x_forwarded_for=CGNAT, service_authorization=a_token(a_user("user"))).status == 200
    for _ in range(5):
        scan(auth, CGNAT)
        clock.shift(timedelta(minutes=1))
        watched.look()

    assert len(events("client.suspected")) == 1


def test_a_good_session_protects_for_a_day(auth, watched, waf, clock):
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


def test_a_whitelisted_monitor_that_is_let_in_is_not_even_told(auth, watched, waf):
    services.allow_network(actor="alice", network=MONITOR)
    SecurityEvent.objects.all().delete()

    assert set(scan(auth, MONITOR)) == {200}
    watched.look()

    assert (bans(), events()) == ([], [])


@pytest.mark.parametrize(
    ("client", "why"),
    [("127.0.0.2", "loopback"), ("::1", "loopback"), (str(UNKNOWN_CLIENT), "loopback"), ("10.0.0.9", "trusted-proxy")],
)
def test_loopback_trusted_proxies_and_nobody_are_never_banned(watched, client, why):
    for number in range(20):
        path, rule = f"/{number}", {"id": number % 3, "name": "rule", "action": "block"}
        watched.watch.saw(a_record(number, client_ip=client, path=path, rules=[rule]))
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == [why]


def test_a_subscriber_of_ipv6_is_banned_by_his_64(auth, watched, waf):
    for number in range(4):
        scan(auth, f"2001:db8:1:2::{number + 1}", times=1)

    watched.look()

    assert bans() == ["2001:db8:1:2::/64"]
    assert auth(x_forwarded_for="2001:db8:1:2:ffff::1").reason == "client-blocked"
    assert auth(x_forwarded_for="2001:db8:1:3::1").reason != "client-blocked"


def test_an_allowed_neighbour_in_the_64_keeps_it_from_being_banned(auth, watched, waf):
    services.allow_network(actor="alice", network="2001:db8:1:2::99")
    scan(auth, "2001:db8:1:2::1")

    watched.look()

    assert bans() == []


def test_brute_force_is_banned(watched):
    a_user("bob")
    SecurityEvent.objects.all().delete()

    assert [sign_in(SCANNER, "bob") for _ in range(20)] == [401] * 10 + [429] * 10
    watched.look()

    assert bans() == [SCANNER]
    assert events() == [
        ("login.failed", SCANNER, 10),
        ("login.locked", SCANNER, 10),
        ("client.banned", SCANNER, 1),
        ("policy.changed", None, 1),
    ]
    assert SecurityEvent.objects.get(kind="client.banned").detail["detector"] == "brute-force"


def test_who_forgot_his_password_is_not_banned(watched, clock):
    a_user("bob")
    for _ in range(9):
        sign_in(VISITOR, "bob")
        clock.shift(5)
        watched.look()
    assert sign_in(VISITOR, "bob", PASSWORD) == 200
    watched.look()

    assert (bans(), events(*TOLD)) == ([], [])


def test_passwords_typed_as_names_count_as_what_they_are(watched):
    for number in range(10):
        sign_in(SCANNER, f"a secret {number}")
    watched.look()

    assert bans() == [SCANNER]
    assert SecurityEvent.objects.get(kind="client.banned").detail["accounts"] == 10


def test_a_right_password_of_no_admin_is_no_failed_sign_in(watched):
    for number in range(25):
        sign_in_events.failed(f"account-{number}", SCANNER, MOMENT, flow="admin-login", why="admin-required")
    watched.look()

    assert (bans(), events(*TOLD)) == ([], [])


def test_an_owner_whom_the_failures_of_others_keep_out_is_not_banned(watched):
    system_settings.change(actor="alice", login_failures_per_account=20, brute_force_failures=25)
    a_user("bob")
    for number in range(20):
        sign_in(f"203.0.113.{number}", "bob")

    assert [sign_in(VISITOR, "bob", PASSWORD) for _ in range(30)] == [429] * 30
    watched.look()

    assert bans() == []


def failed_at_once(attempts):
    """What ``sign_in_events.failed()`` leaves of failed sign-ins, address and name, in a fraction of the statements."""
    tallies = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign_in_events, "count_event", lambda *event, mark: tallies.append(Tally(*event, mark=mark)))
        for address, name in attempts:
            sign_in_events.failed(name, address, MOMENT, flow="login")
    count_events(tallies)


def test_a_stuffing_run_from_five_hundred_addresses_is_told_once_and_its_members_are_banned(watched, clock):
    """Each address tries three accounts: too few for itself, and nobody does so by mistake while an attack is on."""
    SecurityEvent.objects.all().delete()
    addresses = [f"203.0.{number // 250}.{number % 250 + 1}" for number in range(500)]
    for account in range(3):
        failed_at_once([(address, f"{address}-{account}") for address in addresses])
    failed_at_once([(f"198.51.100.{number}", f"person-{number}") for number in range(40)])  # these mistype
    watched.look()

    assert bans() == sorted(addresses)
    kinds = [kind for kind, *_ in events(*TOLD)]
    assert (kinds.count("attack.detected"), kinds.count("client.banned"), len(kinds)) == (1, 500, 501)
    attack = SecurityEvent.objects.get(kind="attack.detected")
    assert (attack.severity, attack.client_ip, attack.detail["detector"]) == ("critical", None, "distributed-stuffing")
    assert [number for _, _, number in events("policy.changed")] == [1]


def test_an_agent_that_starts_again_bans_nobody_twice(watched, another_agent):
    a_user("bob")
    for _ in range(20):
        sign_in(SCANNER, "bob")
    watched.look()
    another_agent.look()

    assert len(events("client.banned")) == 1
    assert bans() == [SCANNER]


def test_who_was_let_in_again_is_not_banned_for_what_he_did_before(watched, another_agent):
    a_user("bob")
    for _ in range(20):
        sign_in(SCANNER, "bob")
    watched.look()
    unban([an_address(SCANNER)], actor="alice", at=MOMENT)
    watched.look()
    another_agent.look()

    assert (bans(), len(events("client.banned"))) == ([], 1)


def test_a_stuffing_run_is_told_once_by_two_agents(watched, another_agent):
    failed_at_once([(f"203.0.113.{number}", f"account{number}") for number in range(150)])
    watched.look()
    another_agent.look()

    assert len(events("attack.detected")) == 1
    assert bans() == []


def test_nobody_is_banned_for_what_was_shipped_after_a_long_outage(auth, watched, waf, clock):
    scan(auth, SCANNER)
    clock.shift(timedelta(hours=3))
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["too-late"]


def test_in_monitor_mode_nobody_is_banned_and_everybody_told(auth, watched, waf):
    system_settings.change(actor="alice", auto_ban_mode="monitor")
    scan(auth, SCANNER)
    watched.look()

    assert bans() == []
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["monitor"]


def test_switched_off_detectors_do_nothing(auth, watched, waf):
    system_settings.change(actor="alice", auto_ban_mode="off")
    scan(auth, SCANNER)
    watched.look()

    assert (bans(), events(*TOLD)) == ([], [])


def test_settings_say_what_is_enough_and_for_how_long(watched):
    system_settings.change(actor="alice", brute_force_failures=5, auto_ban_minutes=3)
    a_user("bob")
    for _ in range(5):
        sign_in(SCANNER, "bob")
    watched.look()

    assert BlocklistEntry.objects.get(network=SCANNER).expires_at == MOMENT + timedelta(minutes=3)


def test_of_bans_there_are_no_more_than_every_worker_can_hold(watched, monkeypatch):
    monkeypatch.setattr(banning, "MAX_BANS", 1)
    system_settings.change(actor="alice", brute_force_failures=5)
    a_user("bob")
    for client in (SCANNER, VISITOR):
        for _ in range(5):
            sign_in(client, "bob")
    watched.look()

    assert bans() == [SCANNER]
    assert [event.detail["why"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == ["too-many-bans"]


def test_bans_that_are_long_over_are_deleted_and_no_others(clock):
    services.block_network(actor="alice", network="192.0.2.9", expires_at=MOMENT + timedelta(hours=1))
    for network in ("192.0.2.1", "192.0.2.2"):
        hours = 1 if network.endswith("1") else 40
        until = MOMENT + timedelta(hours=hours)
        services.block_network(actor="auto-ban", network=network, source="auto-ban", expires_at=until)
    clock.shift(timedelta(hours=26))

    assert [banning.prune(MOMENT + timedelta(hours=26)) for _ in range(2)] == [1, 0]
    assert sorted(BlocklistEntry.objects.values_list("network", flat=True)) == ["192.0.2.2", "192.0.2.9"]


def test_a_clock_that_is_set_back_counts_no_failure_twice(watched, clock):
    a_user("bob")
    for _ in range(9):
        sign_in(SCANNER, "bob")
    watched.look()
    for _ in range(4):
        clock.shift(timedelta(minutes=5))
        watched.look()
    clock.shift(-timedelta(minutes=20))
    for _ in range(3):
        watched.look()
        clock.shift(2)

    assert (bans(), watched.watch._verdicts) == ([], [])


@pytest.mark.parametrize("reason", ["credential-missing", "credential-invalid", "client-blocked", "country-blocked"])
def test_no_other_answer_is_a_signal(reason):
    assert probe_of(a_record(1, reason=reason)) is None


def test_a_rule_that_is_only_monitored_is_no_rule_of_a_probe():
    rules = [{"id": 1, "name": "a", "action": "monitor"}, {"id": 2, "name": "b", "action": "block"}]

    assert probe_of(a_record(1, at=NOW, rules=rules)).rules == {2}


def test_an_event_of_another_network_does_not_protect(auth, watched, waf):
    record_event(Event(EventKind.CLIENT_BANNED, MOMENT, VISITOR))
    record_event(Event(EventKind.LOGIN_SUCCEEDED, MOMENT, VISITOR))
    scan(auth, SCANNER)
    watched.look()

    assert bans() == [SCANNER]
