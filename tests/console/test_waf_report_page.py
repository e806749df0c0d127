"""The page of a domain's WAF: seven days of monitoring, the report, exclusions, and the end."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from audit.models import SecurityEvent
from gatewall.agent.detection import AttackDetection
from gatewall.kernel.clientip import TrustedProxies
from gatewall.urls import urlpatterns
from gatewall.whatif.waf_monitoring import report_ended
from policies import services
from policies.models import AuthorizedDomain, BlocklistEntry, WafRule
from tests.admin.conftest import Pages
from tests.console.test_explain_pages import a_rule, text_of
from tests.support.logs import listed
from tests.support.proxies import a_user, enter_admin_site
from tests.support.records import a_record
from webhooks.models import Notice, Webhook

pytestmark = pytest.mark.django_db
REFUSED = (403, "waf-rule")


@pytest.fixture
def path(office):
    return f"/domains/{office.pk}/waf/"


def press(pages, path, do, **fields):
    response = pages.submit(path, do=do, **fields)
    assert response.status_code == 302, text_of(response)


def offer_in(page):
    """Return the hidden fields of the one offer of a page."""
    (each,) = (each for each in page.context["rules"] if each["rule"].offer)
    return {"offer": each["rule"].offer.key, "decision_id": str(each["rule"].found.examples[0].decision_id)}


def test_a_week_of_monitoring_then_a_report_an_exception_and_block(pages, visits, auth, path):
    rule = a_rule()
    press(pages, path, "monitor")
    for client in ("198.51.100.7", "198.51.100.7", "198.51.100.9"):
        visits(x_forwarded_uri="/wiki?q=attack", x_forwarded_for=client)

    page = pages.get(path)
    words = text_of(page)

    assert "3 requests would have been refused. They came from 2 addresses." in words
    assert "Requests: 3, from addresses: 2. /wiki" in words
    press(pages, path, "except", lifetime="endless", **offer_in(page))
    expected = {"domain": "office.example", "path_prefix": "/wiki", "argument": "q"}
    assert WafRule.objects.get(pk=rule.pk).exclusions == [expected]
    assert "The newest of them needs no exemption" in text_of(pages.get(path))
    press(pages, path, "block")
    assert auth(x_forwarded_uri="/wiki?q=attack").verdict != REFUSED
    assert auth(x_forwarded_uri="/other?q=attack").verdict == REFUSED


def test_monitoring_ends_by_itself_with_one_report(pages, visits, auth, path, alice):
    a_rule()
    Webhook.objects.create(name="pager", url="https://pager.example/x", created_by="alice")
    press(pages, path, "monitor")
    assert auth(x_forwarded_uri="/?q=attack").verdict != REFUSED
    visits(x_forwarded_uri="/?q=attack")
    end = AuthorizedDomain.objects.get().waf_monitor_until
    assert timedelta(days=6, hours=23) < end - timezone.now() <= timedelta(days=7)
    assert report_ended(end) == 0

    with time_machine.travel(end, tick=False):
        assert auth(x_forwarded_uri="/?q=attack").verdict == REFUSED
    reported = [report_ended(end + timedelta(seconds=each)) for each in (9, 10, 11)]

    assert reported == [0, 1, 0]
    detail = SecurityEvent.objects.get(kind="waf.monitoring-ended").detail
    assert (detail["domain"], detail["would_refuse"], detail["clients"]) == ("office.example", 2, 1)
    assert [each["name"] for each in detail["rules"]] == ["attack"]
    assert detail["report"].endswith(f"/admin{path}")
    assert [notice.data["kind"] for notice in Notice.objects.all()] == ["waf.monitoring-ended"]


class LatePages:
    """URL patterns that are loaded on first use, as in an agent; records the open savepoints at that time."""

    def __init__(self):
        self.loaded_in = []

    @property
    def urlpatterns(self):
        self.loaded_in.append(len(connection.savepoint_ids))
        return urlpatterns


def test_an_agent_loads_the_pages_for_its_links_before_it_holds_locks(settings, office):
    services.change_domain(office, actor="x", waf_monitor_until=timezone.now() - timedelta(minutes=1))
    settings.ROOT_URLCONF = pages = LatePages()
    outside = len(connection.savepoint_ids)

    assert report_ended(timezone.now()) == 1

    assert pages.loaded_in == [outside]


def test_monitoring_can_be_extended_before_and_after_its_end(pages, path, office):
    for ends_in in (timedelta(hours=1), -timedelta(hours=1)):
        earlier = timezone.now() + ends_in
        services.change_domain(office, actor="x", waf_monitor_until=earlier)
        assert report_ended(timezone.now()) == (ends_in < timedelta(0))
        press(pages, path, "monitor")

        end = AuthorizedDomain.objects.get().waf_monitor_until
        assert end > timezone.now() + timedelta(days=6)
        assert report_ended(earlier + timedelta(days=1)) == 0
    assert report_ended(end + timedelta(minutes=1)) == 1


def test_requests_let_in_by_monitor_mode_cause_no_ban():
    watch = AttackDetection(TrustedProxies.parse([]))
    monitored = [{"id": number, "name": f"rule{number}", "action": "monitor"} for number in range(5)]
    now = timezone.now()
    for number in range(100):
        would = {"outcome": "challenge", "status": 401, "reason": "credential-missing", "would_refuse": True}
        watch.observe(a_record(number, at=now.timestamp(), rules=monitored, subject=None, waf_score=25, **would))
    watch.turn(now)

    assert not BlocklistEntry.objects.exists()


def test_the_report_of_a_wildcard_leaves_out_hosts_of_other_domains(pages, log, admin, office):
    wide = admin.post("/authorized-domains", {"name": "*.example"}).json()["id"]
    now = timezone.now().timestamp()
    hosts = ["office.example", "a.example", "b.a.example", "notexample", None]
    log(*(a_record(number, at=now - 60, host=host, would_refuse=True) for number, host in enumerate(hosts)))

    report = admin.get(f"/authorized-domains/{wide}/waf-report").json()

    assert {each["host"] for each in report["hosts"]} == {"a.example", "b.a.example"}
    assert report["total"] == len(listed(admin, would_refuse="true")["results"]) - 3


def test_the_report_over_the_api_has_exclusions_to_add(visits, admin, office):
    rule = a_rule()
    until = (timezone.now() + timedelta(days=1)).isoformat()
    assert admin.put(f"/authorized-domains/{office.pk}", {"waf_monitor_until": until}).status_code == 200
    decision_id = visits(x_forwarded_uri="/wiki?q=attack")

    (found,) = admin.get(f"/authorized-domains/{office.pk}/waf-report", {"days": 1}).json()["rules"]

    exclusion = {"domain": "office.example", "path_prefix": "/wiki", "argument": "q"}
    assert found == {
        "id": rule.pk,
        "name": "attack",
        "count": 1,
        "clients": 1,
        "paths": ["/wiki"],
        "decision_ids": [decision_id],
        "offer": {"rule": rule.pk, "exclusions": [exclusion]},
    }
    assert admin.get(f"/authorized-domains/{office.pk}/waf-report", {"days": 91}).status_code == 400
    assert admin.get("/authorized-domains/999999/waf-report").status_code == 404


@pytest.mark.parametrize(("target", "field"), [("headers", "header"), ("cookies", "cookie")])
def test_an_exclusion_of_the_report_covers_only_the_matched_part(visits, auth, admin, office, target, field):
    rule = a_rule(targets=["args", target])
    services.change_domain(office, actor="x", waf_monitor_until=timezone.now() + timedelta(days=1))
    sent = {"x_note": "attack"} if field == "header" else {"cookie": "x-note=attack"}
    visits(x_forwarded_uri="/wiki", **sent)

    (found,) = admin.get(f"/authorized-domains/{office.pk}/waf-report").json()["rules"]

    exclusions = [{"domain": "office.example", "path_prefix": "/wiki", field: "x-note"}]
    assert found["offer"] == {"rule": rule.pk, "exclusions": exclusions}
    assert admin.put(f"/waf-rules/{rule.pk}", {"exclusions": found["offer"]["exclusions"]}).status_code == 200
    services.change_domain(office, actor="x", waf_monitor_until=None)
    assert auth(x_forwarded_uri="/wiki", **sent).verdict != REFUSED
    assert auth(x_forwarded_uri="/wiki?q=attack").verdict == REFUSED


def test_a_monitoring_time_above_the_limit_is_refused(admin, office):
    until = (timezone.now() + timedelta(days=91)).isoformat()

    refused = admin.put(f"/authorized-domains/{office.pk}", {"waf_monitor_until": until})

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "waf_monitor_until")


def test_monitoring_is_in_the_history_and_can_be_undone(pages, admin, path, office):
    before = admin.get("/policy/revisions").json()["results"][0]["number"]
    press(pages, path, "monitor")

    assert admin.post(f"/policy/revisions/{before}/restore", {}).status_code == 200

    assert AuthorizedDomain.objects.get().waf_monitor_until is None


def test_an_auditor_reads_the_report_and_changes_nothing(client, path, office):
    enter_admin_site(client, a_user("eve", is_auditor=True))
    auditor = Pages(client)

    assert auditor.get(path).status_code == 200
    assert auditor.submit(path, do="monitor").status_code == 403
    assert AuthorizedDomain.objects.get().waf_monitor_until is None


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"do": "nothing"}, 404),
        ({"do": "except", "decision_id": "x", "lifetime": "hour"}, 404),
        ({"do": "except", "decision_id": "019cebab-8748-7000-8000-000000000000", "lifetime": "hour"}, 404),
        ({"do": "except", "decision_id": "019cebab-8748-7000-8000-000000000000", "lifetime": "year"}, 404),
    ],
)
def test_changes_that_the_page_did_not_offer_are_refused(pages, path, fields, status):
    assert pages.submit(path, **fields).status_code == status


def test_an_unknown_window_is_refused(pages, path):
    assert pages.get(f"{path}?days=2").status_code == 404
