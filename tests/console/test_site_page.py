"""The page of one domain: who may enter, its rules, its requests, and a bounded number of statements."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AccessLog
from policies import services
from policies.access_rules.services import create_access_rule
from policies.grants.services import create_grant
from policies.groups.services import create_group
from policies.models import DevicePass
from tests.support.records import a_record
from tests.support.share_links import a_share_link

API = [{"match": "prefix", "value": "/api"}]
MOST_STATEMENTS = 30


@pytest.fixture
def domain(db):
    return services.register_domain(actor="test", name="office.example", access="two_factor")


def page_of(pages, domain):
    shown = pages.get(f"/domains/{domain.pk}/")
    assert shown.status_code == 200
    return shown


def test_the_page_shows_who_may_enter_and_which_rows_decide(pages, domain, bob):
    other = services.register_domain(actor="test", name="other.example", access="public")
    create_group(actor="test", name="family", authorized_domains=[domain])
    create_group(actor="test", name="strangers", authorized_domains=[other])
    create_access_rule(actor="test", name="everywhere", access="public", paths=API)
    create_access_rule(actor="test", name="here", access="denied", domains=[domain])
    create_access_rule(actor="test", name="there", access="denied", domains=[other])
    create_access_rule(actor="test", name="not used", access="denied", enabled=False)
    ends = timezone.now() + timedelta(hours=1)
    create_grant(actor="test", user=bob, domain=domain, expires_at=ends)
    DevicePass.objects.bulk_create(
        DevicePass(user=bob, domain=domain, address="192.0.2.1", program=program, expires_at=end)
        for program, end in (("Kodi", ends), ("VLC", timezone.now()))
    )
    a_share_link(domain)
    services.create_waf_rule(
        actor="test", name="sql", pattern="x1y2", exclusions=[{"domain": "office.example", "argument": "q"}]
    )
    services.create_waf_rule(
        actor="test", name="xss", pattern="x", force=True, exclusions=[{"domain": "other.example"}]
    )
    page = page_of(pages, domain)
    context = page.context

    assert str(context["asked"]) == "a second factor"
    assert [rule.name for rule, _conditions in context["rules"]] == ["everywhere", "here"]
    assert [group.name for group in context["groups"]] == ["family"]
    assert [grant.user for grant in context["grants"]] == [bob]
    assert [str(row) for _shown, row in context["passes"]] == ["Kodi office.example", "Anna"]
    assert "share link Anna</a>" in page.content.decode()
    assert [each["name"] for each in context["exclusions"]] == ["sql"]


def test_the_page_counts_requests_by_path_and_by_reason_of_refusal(pages, domain, log):
    at = timezone.now().timestamp() - 60
    refused = {"outcome": "deny", "status": 403, "reason": "waf-rule"}
    own = {"host": "office.example", "decided_by": None, "rules": [], "at": at}
    log(
        a_record(1, **own, path="/wiki/a", outcome="allow", status=200, reason="session-valid"),
        a_record(2, **own, path="/wiki/b", outcome="challenge", status=401, reason="credential-missing"),
        a_record(3, **own, path="/admin.php", **refused),
        a_record(4, **(own | {"host": "other.example"}), path="/wiki/c", **refused),
    )
    context = page_of(pages, domain).context
    paths = {each.path: (each.allowed, each.challenged, each.refused) for each, _log in context["paths"]}

    assert paths == {"/wiki/": (1, 1, 0), "/admin.php": (0, 0, 1)}
    assert {number for _words, number, _log in context["reasons"]} == {1}
    link = context["paths"][0][1]
    assert len(pages.client.get(link).context["rows"]) == 1


def test_a_wildcard_domain_has_the_requests_of_the_hosts_below_it(pages, log):
    domain = services.register_domain(actor="test", name="*.office.example", access="public")
    at = timezone.now().timestamp() - 60
    hosts = ("a.office.example", "office.example", "b.office.example")
    log(*(a_record(number, host=host, at=at, path="/x") for number, host in enumerate(hosts)))

    assert page_of(pages, domain).context["recent"].number == 2


def test_more_rows_do_not_take_more_statements(pages, domain, log):
    def statements():
        with CaptureQueriesContext(connection) as captured:
            page_of(pages, domain)
        return len(captured)

    statements()  # loads the policy
    few = statements()
    for number in range(30):
        create_access_rule(actor="test", name=f"rule {number}", access="public", paths=API, domains=[domain])
    at = timezone.now().timestamp() - 60
    log(*(a_record(number, host="office.example", at=at, path=f"/p{number}/x") for number in range(100)))
    assert AccessLog.objects.count() == 100

    statements()

    assert statements() <= few + 4 <= MOST_STATEMENTS  # once there are rules, their relations and uses are queried


def test_hosts_link_to_the_page_of_their_domain(pages, domain):
    assert pages.get("/site/?host=office.example:8443").url.endswith(f"/domains/{domain.pk}/")
    assert pages.get("/site/?host=unknown.example").url.endswith("/first-site/")
    assert pages.get("/site/?host=%00").url.endswith("/first-site/")
    assert f"/domains/{domain.pk}/" in pages.get("/policies/authorizeddomain/").content.decode()


def test_a_row_of_the_log_links_to_its_site(pages, domain, log):
    log(a_record(host="office.example", at=timezone.now().timestamp() - 60))

    assert "/wall/admin/site/?host=office.example" in pages.get("/log/").content.decode()


def test_names_of_visitors_are_escaped(pages, domain, log):
    log(a_record(host="office.example", at=timezone.now().timestamp() - 60, path="/<script>alert(1)</script>"))

    assert not re.search("<script>alert", page_of(pages, domain).content.decode())


def test_the_page_of_a_deleted_domain_is_not_found(pages):
    assert pages.get("/domains/999999/").status_code == 404
