"""Access requests: a refused visitor without scripts asks, an admin approves, the gate lets in until the expiry."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import services as accounts
from audit.log import selectors
from audit.models import SecurityEvent
from audit.storage import ingest
from gatewall.policy import system_settings
from gatewall.whatif import access_requests
from policies import services
from policies.models import Grant, RequestForAccess
from tests.admin.conftest import Pages
from tests.support.cast import OFFICE
from tests.support.mail_server import PUBLIC_URL, send_due
from tests.support.proxies import enter_admin_site
from tests.support.receiver import a_webhook
from tests.support.visitor import Visitor, words
from webhooks.models import Notice

pytestmark = pytest.mark.django_db
UNKNOWN = "019cebab-8748-7000-8000-000000000000"


@pytest.fixture
def outside(bob, office):
    """Return the browser of Bob, signed in at the guard page, whose scope has no domain."""
    accounts.change_user(bob, actor="alice", all_domains=False)
    visitor = Visitor()
    visitor.sign_in()
    return visitor


@pytest.fixture
def entered(auth, settings):
    """Return a function that asks the gate as the visitor, stores the record, and gives verdict and decision id."""

    def ask(visitor, uri="/photos/7", host=OFFICE):
        answer = auth(service_authorization=visitor.token, x_forwarded_host=host, x_forwarded_uri=uri)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return answer.verdict, answer.headers["X-Gatewall-Decision-Id"]

    return ask


@pytest.fixture
def approver(alice):
    """Return the admin site in the browser of an admin."""
    browser = Pages(Client(enforce_csrf_checks=True, headers={"Host": "testserver"}))
    enter_admin_site(browser.client, alice)
    return browser


def offers_on(page):
    return re.findall(r'name="offer" value="([^"]+)"', page)


def test_a_refused_visitor_asks_and_is_through_until_the_second_of_its_end(outside, entered, approver):
    a_webhook(least_severity="medium", kinds=["access.requested"])
    verdict, decision_id = entered(outside)
    assert verdict == (403, "host-not-in-scope")

    told = {"X-Gatewall-Reason": "host-not-in-scope", "X-Gatewall-Decision-Id": decision_id}
    denied = outside.get("/denied", **told, **{"X-Forwarded-Host": OFFICE, "X-Forwarded-Proto": "https"})
    assert f'href="/wall/ask/{decision_id}?rd=https%3A%2F%2F{OFFICE}"' in denied.text
    assert "Why do you need access?" in words(outside.get(f"/ask/{decision_id}"))

    asked = outside.send(f"/ask/{decision_id}", reason="the   wedding photos")
    assert (asked.status_code, asked.headers["Location"]) == (303, f"/wall/ask/{decision_id}")
    page = outside.get(f"/ask/{decision_id}")
    assert (page.headers["Refresh"], "the wedding photos" in words(page)) == ("10", True)
    event = SecurityEvent.objects.get(kind="access.requested")
    assert (event.user_name, str(event.decision_id), event.detail["host"]) == ("Bob", decision_id, OFFICE)
    assert "wedding" not in str(event.detail)
    assert [notice.data["kind"] for notice in Notice.objects.all()] == ["access.requested"]

    row = RequestForAccess.objects.get()
    assert "1 request waits" in approver.words(approver.get("/access-requests/"))
    shown = approver.get(f"/access-requests/{row.pk}/").content.decode()
    assert "the wedding photos" in shown
    assert "<code>host-not-in-scope</code>: 1" in shown
    narrow, _wide = offers_on(shown)
    decided = approver.submit(f"/access-requests/{row.pk}/", offer=narrow, lifetime="eight-hours")
    assert decided.status_code == 302

    assert entered(outside)[0] == (200, "grant-valid")
    assert entered(outside, "/photos")[0] == (403, "host-not-in-scope")
    grant = Grant.objects.get()
    assert (grant.path_prefix, grant.reason, str(grant.decision_id)) == ("/photos/7", "the wedding photos", decision_id)
    page = outside.get(f"/ask/{decision_id}")
    assert "You have access." in words(page)
    assert f'href="https://{OFFICE}/photos/7"' in page.text
    for url, shown in ((f"https://{OFFICE}:8443/photos/7", True), ("https://evil.example/", False)):
        assert (f'href="{url}"' in outside.get(f"/ask/{decision_id}", {"rd": url}).text) is shown
    assert SecurityEvent.objects.get(kind="access.granted").detail["grant"] == grant.pk

    with time_machine.travel(grant.expires_at - timedelta(milliseconds=1), tick=False):
        assert entered(outside)[0] == (200, "grant-valid")
    with time_machine.travel(grant.expires_at, tick=False):
        assert entered(outside)[0] == (403, "host-not-in-scope")
        assert "Your access has ended." in words(outside.get(f"/ask/{decision_id}"))


def test_a_refused_visitor_reads_the_answer_and_may_ask_again(outside, entered, approver):
    decision_id = entered(outside)[1]
    outside.send(f"/ask/{decision_id}", reason="please")
    row = RequestForAccess.objects.get()

    approver.submit(f"/access-requests/{row.pk}/", decide="refuse", answer="ask <b>me</b> tomorrow")

    page = outside.get(f"/ask/{decision_id}")
    assert "Your request was refused." in words(page)
    assert "ask &lt;b&gt;me&lt;/b&gt; tomorrow" in page.text
    assert "Why do you need access?" in words(page)
    assert entered(outside)[0] == (403, "host-not-in-scope")
    assert SecurityEvent.objects.filter(kind="access.refused").count() == 1
    again = approver.submit(f"/access-requests/{row.pk}/", decide="refuse", answer="")
    assert (again.status_code, "decided already" in approver.words(again)) == (409, True)


def test_asking_for_the_same_domain_again_changes_nothing_and_it_can_be_taken_back(outside, entered):
    one, other = entered(outside)[1], entered(outside, "/other")[1]
    outside.send(f"/ask/{one}", reason="please")

    assert outside.send(f"/ask/{other}", reason="please").headers["Location"].endswith(one)
    assert RequestForAccess.objects.count() == 1

    outside.send(f"/ask/{one}", withdraw="1")
    assert RequestForAccess.objects.get().state == "withdrawn"
    assert outside.send(f"/ask/{one}", withdraw="1").status_code == 409


def test_access_requests_of_a_user_are_rate_limited(outside, entered):
    decision_id = entered(outside)[1]
    answers = []
    for _number in range(50):
        answers.append(outside.send(f"/ask/{decision_id}", reason="please").status_code)
        outside.send(f"/ask/{decision_id}", withdraw="1")

    assert answers.count(303) == access_requests.MAX_AN_HOUR
    assert set(answers[access_requests.MAX_AN_HOUR :]) == {429}
    assert RequestForAccess.objects.count() == access_requests.MAX_AN_HOUR


def test_the_number_of_pending_access_requests_is_limited(outside, entered):
    for number in range(access_requests.MAX_PENDING + 1):
        host = f"site{number}.example"
        services.register_domain(actor="alice", name=host, access="authenticated")
        status = outside.send(f"/ask/{entered(outside, host=host)[1]}", reason="please").status_code

    assert status == 429
    assert RequestForAccess.objects.count() == access_requests.MAX_PENDING


def test_an_access_request_expires_after_seven_days_without_a_decision(outside, entered, approver):
    decision_id = entered(outside)[1]
    outside.send(f"/ask/{decision_id}", reason="please")
    RequestForAccess.objects.update(asked_at=timezone.now() - timedelta(days=7))

    row = RequestForAccess.objects.get()
    assert row.state == "expired"
    assert "Nobody answered" in words(outside.get(f"/ask/{decision_id}"))
    assert approver.submit(f"/access-requests/{row.pk}/", decide="refuse").status_code == 409


def test_a_user_cannot_ask_about_the_refusal_of_another_user(outside, entered, charlie):
    decision_id = entered(outside)[1]
    other = Visitor()
    other.sign_in("charlie")

    assert other.get(f"/ask/{decision_id}").status_code == 404
    assert other.send(f"/ask/{decision_id}", reason="please").status_code == 404
    assert outside.get(f"/ask/{UNKNOWN}").status_code == 404
    assert not RequestForAccess.objects.exists()


def test_asking_without_a_session_redirects_to_sign_in_and_back(outside, entered):
    decision_id = entered(outside)[1]

    answer = Visitor().get(f"/ask/{decision_id}")

    assert (answer.status_code, f"ask%2F{decision_id}" in answer.headers["Location"]) == (303, True)


def test_the_page_refreshes_until_the_refusal_is_in_the_log(outside, auth):
    answer = auth(service_authorization=outside.token, x_forwarded_host=OFFICE)

    page = outside.get(f"/ask/{answer.headers['X-Gatewall-Decision-Id']}")

    assert (page.status_code, page.headers["Refresh"]) == (200, "2")


def test_a_refusal_logged_while_its_page_is_rendered_is_found(outside, auth, monkeypatch, settings):
    answer, look = auth(service_authorization=outside.token, x_forwarded_host=OFFICE), selectors.answer

    def look_and_ship(decision_id):
        found = look(decision_id)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return found

    monkeypatch.setattr(selectors, "answer", look_and_ship)
    page = outside.get(f"/ask/{answer.headers['X-Gatewall-Decision-Id']}")

    assert (page.status_code, 'id="reason"' in page.text) == (200, True)


def test_access_that_no_grant_can_give_cannot_be_requested(outside, entered, office, approver):
    decision_id = entered(outside)[1]
    outside.send(f"/ask/{decision_id}", reason="please")
    row = RequestForAccess.objects.get()
    shown = approver.get(f"/access-requests/{row.pk}/").content.decode()
    services.change_domain(office, actor="alice", access="denied")

    refused = approver.submit(f"/access-requests/{row.pk}/", offer=offers_on(shown)[0], lifetime="hour")

    assert refused.status_code == 409
    assert "No access can be given" in approver.words(refused)
    outside.send(f"/ask/{decision_id}", withdraw="1")
    assert "Access cannot be given for this." in words(outside.get(f"/ask/{decision_id}"))
    assert outside.send(f"/ask/{decision_id}", reason="please").status_code == 409


@pytest.mark.parametrize("lifetime", ["", "endless", "month", "day", "x"])
def test_access_is_given_for_the_times_that_are_offered_alone(outside, entered, approver, lifetime):
    outside.send(f"/ask/{entered(outside)[1]}", reason="please")
    row = RequestForAccess.objects.get()
    offer = offers_on(approver.get(f"/access-requests/{row.pk}/").content.decode())[0]

    assert approver.submit(f"/access-requests/{row.pk}/", offer=offer, lifetime=lifetime).status_code in {400, 409}
    assert not Grant.objects.exists()


def test_an_auditor_cannot_decide_an_access_request(outside, entered, wall):
    outside.send(f"/ask/{entered(outside)[1]}", reason="please")
    row = RequestForAccess.objects.get()
    auditor = Pages(Client(enforce_csrf_checks=True, headers={"Host": "testserver"}))
    enter_admin_site(auditor.client, wall.a_user("vera", is_auditor=True))

    assert auditor.get(f"/access-requests/{row.pk}/").status_code == 200
    assert auditor.submit(f"/access-requests/{row.pk}/", decide="refuse").status_code == 403
    assert outside.client.get(f"/wall/admin/access-requests/{row.pk}/").status_code == 302
    assert RequestForAccess.objects.get().state == "pending"


def test_an_empty_reason_and_an_unknown_request_are_errors(outside, entered, approver):
    decision_id = entered(outside)[1]

    assert outside.send(f"/ask/{decision_id}", reason="  ").status_code == 400
    assert outside.send(f"/ask/{decision_id}", withdraw="1").status_code == 404
    assert approver.get("/access-requests/7/").status_code == 404


def test_admins_get_a_mail_about_a_request_and_the_user_about_the_decision(outside, entered, approver, mailbox, alice):
    outside = Visitor("wall.office.example")
    outside.sign_in()
    send_due()
    mailbox.mails.clear()
    accounts.change_user(alice, actor="alice", email="alice@office.example")
    for language, decide in (("en", {"lifetime": "hour"}), ("zh-hans", {"decide": "refuse", "answer": "no"})):
        system_settings.change(actor="alice", mail_language=language, account_notices=language == "en")
        Grant.objects.all().delete()
        _verdict, decision_id = entered(outside)
        outside.send(f"/ask/{decision_id}", reason="the secret wedding")
        row = RequestForAccess.objects.latest("pk")
        page = approver.get(f"/access-requests/{row.pk}/").content.decode()
        approver.submit(f"/access-requests/{row.pk}/", offer=offers_on(page)[0], **decide)
        send_due()

        told, answered = mailbox.mails[-2:]
        assert (told["To"], answered["To"]) == ("alice <alice@office.example>", "Bob <bob@office.example>")
        assert f"{PUBLIC_URL}/wall/admin/access-requests/{row.pk}/" in mailbox.texts()[-2]
        assert f"{PUBLIC_URL}/wall/ask/{decision_id}" in mailbox.texts()[-1]
        assert not any("wedding" in text for text in mailbox.texts())
    assert [mail["Subject"] for mail in mailbox.mails] == [
        f"Bob asks for access to {OFFICE}",
        f"You have access to {OFFICE}",
        f"Bob 请求访问 {OFFICE}",
        f"您对 {OFFICE} 的请求被拒绝",
    ]
