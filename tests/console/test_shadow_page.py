"""The page of the shadow policy: the requests that it would refuse or let in, and its buttons."""

import re
from datetime import timedelta

import pytest

from audit.models import AccessLog
from gatewall.models import PendingConfirmation, RefusalWatch
from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import revisions
from gatewall.whatif.shadow.services import report, set_shadow
from policies import services
from policies.models import AuthorizedDomain
from tests.admin.conftest import Fields
from tests.console.conftest import NOON, ago

PAGE = "/shadow/"
CLOSED = "version: 1\ndomains:\n- name: office.example\n  access: denied\n"
DENY = {"effect": "deny", "reason": "access-denied", "decided_by": {"kind": "access-rules", "id": 3}}
OPEN = {"effect": "allow", "reason": "path-public", "decided_by": None}
ALICE = {"kind": "user", "id": 1, "name": "alice"}
LET_IN = {"outcome": "allow", "status": 200, "reason": "session-valid", "decided_by": None, "subject": ALICE}
NOBODY = {"outcome": "challenge", "status": 401, "reason": "credential-missing", "decided_by": None, "subject": None}


@pytest.fixture
def shadow(noon, office):
    made = set_shadow(document=CLOSED, percent=50, actor="alice")
    ShadowPolicy.objects.update(created_at=NOON.replace(hour=9))
    made.refresh_from_db()
    return made


@pytest.fixture
def differing(shadow, log):
    log(
        *(ago(number, host="reports.example", shadow=DENY, **LET_IN) for number in range(3)),
        *(
            ago(number, host="files.example", client_ip="203.0.113.9", shadow=OPEN, **NOBODY)
            for number in range(10, 12)
        ),
        ago(20, host="files.example", **NOBODY),
        ago(21, hours=10, host="old.example", shadow=DENY, **LET_IN),
    )


def tables(page):
    found = {}
    for title, body in re.findall(r"<h2>([^<]+)</h2>(.*?)(?=<h2|<form method=\"post\")", page, re.DOTALL):
        rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", body, re.DOTALL)
        cells = [
            [re.sub(r"<[^>]+>", "", each).strip() for each in re.findall(r"<t[hd][^>]*>.*?</t[hd]>", row)]
            for row in rows
        ]
        found[title] = cells
    return found


def test_differing_requests_are_grouped_by_subject_host_and_client(differing, pages):
    page = pages.words(pages.get(PAGE))

    assert "Would have been refused: 3. Would have been let in: 2." in page
    assert tables(page) == {
        "Users, git tokens and licenses": [
            ["alice", "reports.example", "would have been refused", "session-valid", "access-denied", "3", "1 2 3"]
        ],
        "Hosts": [
            ["reports.example", "would have been refused", "session-valid", "access-denied", "3", "1 2 3"],
            ["files.example", "would have been let in", "credential-missing", "path-public", "2", "1 2"],
        ],
        "Clients without a valid credential": [
            ["203.0.113.9", "files.example", "would have been let in", "credential-missing", "path-public", "2", "1 2"]
        ],
    }


def test_examples_link_to_receipts_with_the_shadow_verdict(office, visits, pages):
    set_shadow(document=CLOSED, percent=50, actor="alice")
    decision_id = visits()
    AccessLog.objects.update(shadow=DENY)

    assert f'/explain/{decision_id}/">1</a>' in pages.words(pages.get(PAGE))
    assert "deny, access-denied" in pages.words(pages.get(f"/explain/{decision_id}/"))


def test_the_log_has_a_filter_for_differing_requests(differing, pages):
    page = pages.words(pages.get("/log/?shadow=differs"))

    assert "reports.example" in page
    assert "shadow policy" in page


def test_sampling_and_budget_are_shown(shadow, pages):
    figures = {
        "shadow": str(shadow.key),
        "answers": 1000,
        "selected": 500,
        "evaluated": 60,
        "differing": 7,
        "skipped": 440,
        "behind": 0,
        "faults": 0,
        "answer_seconds": 2.0,
        "shadow_seconds": 0.4,
    }
    recent = {"answers": 100, "selected": 50, "evaluated": 6, "answer_seconds": 0.2, "shadow_seconds": 0.05}
    each = {"figures": figures, "recent": recent, "active": True, "problem": ""}
    report(shadow.key, "one", NOON, {"1-a": each})

    page = pages.words(pages.get(PAGE))

    assert "<dd>evaluated after the answers</dd>" in page
    assert "<dd>6.0 %</dd>" in page
    assert "<dd>25.0 % (at most 25 %)</dd>" in page
    assert "<dd>60 / 1000</dd>" in page
    assert "The CPU budget makes the workers evaluate fewer requests than were asked for" in page


def test_a_document_is_set_and_its_faults_are_named(noon, office, pages):
    refused = pages.submit(PAGE, do="set", document="version: 1\nnonsense: 1\n", percent="10")
    assert refused.status_code == 409
    assert "line 2, column 1, <code>/nonsense</code>" in pages.words(refused)
    assert "nonsense: 1" in pages.words(refused)
    for percent in ("1000", "01009", "0", "-1", ""):
        assert pages.submit(PAGE, do="set", document=CLOSED, percent=percent).status_code == 409

    assert pages.submit(PAGE, do="set", document=CLOSED, percent="10").status_code == 302
    assert (ShadowPolicy.objects.get().percent, ShadowPolicy.objects.get().created_by) == (10, "alice")


def test_a_shadow_policy_is_put_in_force(shadow, pages):
    shown = revisions.current().revision
    assert pages.submit(PAGE, do="promote", revision=str(shown)).status_code == 302

    assert AuthorizedDomain.objects.get().access == "denied"
    assert not ShadowPolicy.objects.exists()


def test_a_shadow_policy_is_put_in_force_with_confirmation_and_watch(shadow, pages):
    refused = pages.submit(PAGE, do="promote", confirm_minutes="61")
    assert (refused.status_code, AuthorizedDomain.objects.get().access) == (400, "authenticated")
    assert "errorlist" in pages.words(refused)

    applied = pages.submit(PAGE, do="promote", confirm_minutes="10", undo_people="2", undo_minutes="30")

    waiting, watch = PendingConfirmation.objects.get(), RefusalWatch.objects.get()
    assert applied.url.endswith(f"/history/{waiting.revision}/")
    assert waiting.deadline - waiting.made_at == timedelta(minutes=10)
    assert (watch.revision, watch.people, watch.until - watch.made_at) == (waiting.revision, 2, timedelta(minutes=30))


def test_only_the_shown_shadow_policy_is_put_in_force(shadow, pages):
    key = Fields(pages.words(pages.get(PAGE))).values["shadow"][0]
    set_shadow(document=CLOSED.replace("denied", "public"), percent=50, actor="bob")

    answer = pages.submit(PAGE, do="promote", shadow=key)

    assert answer.status_code == 409
    assert AuthorizedDomain.objects.get().access == "authenticated"


def test_the_form_starts_from_the_policy_in_force(noon, office, pages):
    assert "name: office.example" in pages.words(pages.get(f"{PAGE}?document=current"))
    assert pages.get(f"{PAGE}?document=other").status_code == 404


def test_a_stale_shadow_policy_is_not_put_in_force(shadow, pages):
    shown = revisions.current().revision
    services.register_domain(actor="bob", name="other.example", access="public")
    answer = pages.submit(PAGE, do="promote", revision=str(shown))

    assert answer.status_code == 409
    assert "The policy was changed since this page was shown." in pages.words(answer)
    assert AuthorizedDomain.objects.get(name="office.example").access == "authenticated"


def test_a_shadow_policy_that_fails_an_expectation_is_not_put_in_force(noon, office, pages):
    request = "{client: 203.0.113.1, host: office.example}"
    wanted = f"expect:\n- name: strangers enter\n  request: {request}\n  effect: allow\n"
    set_shadow(document=CLOSED + wanted, percent=50, actor="alice")
    answer = pages.submit(PAGE, do="promote", revision=str(revisions.current().revision))

    assert answer.status_code == 409
    assert "failed expectations (1): strangers enter" in pages.words(answer)
    assert AuthorizedDomain.objects.get().access == "authenticated"


def test_a_shadow_policy_is_removed(shadow, pages):
    assert pages.submit(PAGE, do="stop").status_code == 302
    assert not ShadowPolicy.objects.exists()
    assert pages.submit(PAGE, do="promote", revision="1").status_code == 409
    assert "There is no shadow policy." in pages.words(pages.get(PAGE))


def test_the_page_reloads_itself_as_asked(shadow, pages):
    assert pages.get(f"{PAGE}?refresh=10").headers["Refresh"] == "10"
    assert "Refresh" not in pages.get(PAGE).headers
    assert pages.get(f"{PAGE}?refresh=1").status_code == 404
    assert pages.submit(PAGE, do="nonsense").status_code == 404
