"""The shadow policy from its row to the access log, on both planes."""

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from accounts import services as accounts
from audit.models import AccessLog, SecurityEvent
from audit.storage.ingest import ship
from gatewall.engine.evaluate import evaluate
from gatewall.models.shadow import ShadowReport
from gatewall.policy import system_settings
from gatewall.snapshot.host_paths import policy_files
from gatewall.whatif.hypothetical import policies_with
from gatewall.whatif.shadow import services as shadows
from gatewall.whatif.shadow.status import State, status_of
from policies import services
from policies.models import AuthorizedDomain
from policies.rows import Duplicate
from tests.support.cast import CLIENT, OFFICE, a_ports, a_request
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db(transaction=True)


def close_office(_document):
    services.change_domain(AuthorizedDomain.objects.get(name=OFFICE), actor="shadow", access="denied", force=True)


FAULTS = {
    "not a policy": ValueError("not a policy"),
    "['no such country']": ValidationError("no such country"),
    "'a bug'": KeyError("a bug"),
    "the name is taken": Duplicate("the name is taken"),
}


@pytest.fixture
def planes(wall, office):
    from tests.support.shadows import ShadowedPlane  # noqa: PLC0415 - after the fixtures have set the settings

    made = [ShadowedPlane(name) for name in ("control", "data")]
    yield made
    for each in made:
        each.close()


@pytest.fixture
def visit(wall):
    """Return a function that sends a subrequest as nginx does."""
    from tests.support.dialects import DIALECTS  # noqa: PLC0415 - as above

    return DIALECTS["auth"]


@pytest.fixture
def publisher(planes):
    from tests.support.shadows import a_publisher  # noqa: PLC0415 - as above

    return a_publisher(close_office)


def start(publisher, planes, visit, **options):
    """Set the shadow policy, publish it, and make both planes load it."""
    shadow = shadows.set_shadow(document="a document", actor="alice", **{"percent": 100, **options})
    for plane in planes:
        plane(visit())  # loads the live policy
    publisher.turn()
    for plane in planes:
        plane.follow()
    return shadow


def logged():
    ship(settings.CONFIG.home / "spool")
    return list(AccessLog.objects.order_by("at", "decision_id"))


def test_both_planes_record_the_verdict_of_the_shadow_policy(planes, publisher, visit, bob):
    start(publisher, planes, visit)
    header = ("Service-Authorization", a_token(bob))

    answers = [plane(visit().plus(header)).verdict for plane in planes]

    assert answers == [(200, "session-valid")] * 2
    before, after = logged()[:2], logged()[2:]
    assert [row.shadow for row in before] == [None, None]
    domain = {"kind": "authorized-domains", "id": AuthorizedDomain.objects.get().pk}
    denied = {"effect": "deny", "reason": "host-not-authorized", "decided_by": domain}
    assert [(row.reason, row.shadow) for row in after] == [("session-valid", denied)] * 2


def test_differences_are_those_of_evaluating_both_policies(planes, publisher, visit):
    start(publisher, planes, visit)
    for plane in planes:
        plane(visit())
        plane(visit(host="other.example"))
    policies = policies_with(lambda: close_office(""), policy_files(settings.CONFIG))
    rows = logged()[2:]

    assert len(rows) == 4
    for row in rows:
        asked = a_request(client=row.client_ip, host=row.host, at=row.at.timestamp())
        ours, theirs = (evaluate(asked, each, a_ports()).verdict for each in (policies.before, policies.after))
        assert ours.reason == row.reason
        assert (row.shadow and row.shadow["reason"]) == (theirs.reason if theirs != ours else None), row.host


def test_users_and_bans_are_the_live_ones_without_compiling_again(planes, publisher, visit, bob):
    start(publisher, planes, visit)
    token = ("Service-Authorization", a_token(bob))
    stamp = policy_files(settings.CONFIG).overlay_stamp()
    services.block_network(actor="alice", network=CLIENT)
    accounts.change_user(bob, actor="alice", is_active=False)
    for plane in planes:
        plane(visit().plus(token))
    publisher.turn()
    for plane in planes:
        plane.follow()
        plane(visit().plus(token))

    assert policy_files(settings.CONFIG).overlay_stamp() == stamp
    assert {(row.reason, row.shadow and row.shadow["reason"]) for row in logged()[-2:]} == {("client-blocked", None)}


def test_a_live_change_of_a_replaced_segment_compiles_it_again(planes, publisher, visit):
    start(publisher, planes, visit)
    stamp = policy_files(settings.CONFIG).overlay_stamp()
    services.register_domain(actor="alice", name="new.example", access="public")
    for plane in planes:
        plane(visit(host="new.example"))
        plane.follow()
        assert plane.shadow.policy is None
    publisher.turn()
    for plane in planes:
        plane.follow()
        plane(visit(host="new.example"))

    assert policy_files(settings.CONFIG).overlay_stamp() != stamp
    assert all(plane.shadow.policy is not None for plane in planes)
    assert {row.shadow and row.shadow["reason"] for row in logged()[-2:]} == {None}


def test_a_removed_shadow_is_removed_from_workers(planes, publisher, visit):
    start(publisher, planes, visit)
    assert shadows.remove()
    publisher.turn()
    for plane in planes:
        plane.follow()
        plane(visit())

    assert [plane.shadow.policy for plane in planes] == [None, None]
    assert {row.shadow is None for row in logged()[-2:]} == {True}
    assert not shadows.remove()


@pytest.mark.parametrize("problem", FAULTS)
def test_a_document_that_does_not_compile_is_an_event_and_no_error(planes, visit, problem):
    from tests.support.shadows import a_publisher  # noqa: PLC0415 - as above

    def refuse(_document):
        raise FAULTS[problem]

    publisher = a_publisher(refuse)
    start(publisher, planes, visit)
    publisher.turn()

    assert [plane(visit()).verdict for plane in planes] == [(401, "credential-missing")] * 2
    status = status_of(shadows.current())
    assert (status.state, status.problem) == (State.FAILED, f"it cannot be compiled: {problem}")
    (event,) = SecurityEvent.objects.filter(kind="shadow.failed")
    assert event.detail == {"node": "node-1", "problem": status.problem}


def test_a_refused_overlay_is_an_event_once(planes, publisher, visit):
    start(publisher, planes, visit)
    overlay = policy_files(settings.CONFIG).overlay()
    segment = next(iter(overlay.segments.values())).ref
    path = settings.CONFIG.home / "policy" / "segments" / segment.sha256
    path.write_bytes(b"x" * segment.size)
    for plane in planes:
        plane.follower._stamp = plane.follower._seen = None
        plane.follower._assembly._tables = {}
        plane.follow()
    publisher.turn()
    publisher.turn()

    assert [plane(visit()).verdict for plane in planes] == [(401, "credential-missing")] * 2
    assert status_of(shadows.current()).state is State.FAILED
    assert "damaged" in SecurityEvent.objects.get(kind="shadow.failed").detail["problem"]


def test_the_state_sums_the_reports_of_the_processes(planes, publisher, visit):
    shadow = start(publisher, planes, visit, percent=100)
    assert status_of(shadow).state is State.WAITING
    for plane in planes:
        for _ in range(3):
            plane(visit())
        plane.follow()
    publisher.turn()
    publisher.turn()  # counts nothing twice

    status = status_of(shadows.current())
    assert status.state is State.ACTIVE
    assert {name: status.totals[name] for name in ("answers", "selected", "evaluated", "differing")} == {
        "answers": 6,
        "selected": 6,
        "evaluated": 6,
        "differing": 6,
    }
    assert (status.cpu_percent_limit, status.totals["shadow_seconds"] > 0) == (25, True)
    assert ShadowReport.objects.count() == 1


def test_a_new_limit_is_published_without_compiling(planes, publisher, visit):
    start(publisher, planes, visit)
    system_settings.change(actor="alice", shadow_cpu_percent=7)
    before = policy_files(settings.CONFIG).overlay()
    publisher.turn()
    after = policy_files(settings.CONFIG).overlay()

    assert (before.cpu_percent, after.cpu_percent) == (25, 7)
    assert before.segments == after.segments


def test_the_answers_are_those_without_a_shadow(planes, publisher, visit, bob):
    token = ("Service-Authorization", a_token(bob))
    questions = [visit(), visit().plus(token), visit(host="other.example"), visit(uri="/?q=<script>alert(1)</script>")]
    without = [plane(question) for plane in planes for question in questions]
    start(publisher, planes, visit)

    assert [plane(question) for plane in planes for question in questions] == without
    assert all(plane.shadow.figures.evaluated == len(questions) for plane in planes)
