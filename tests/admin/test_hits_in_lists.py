"""Every list of rows whose uses are counted shows their number and the last one."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib import admin
from django.utils import timezone

from audit.figures.used_rows import UsedRowsAdmin
from audit.models import SpanCount, UseCount
from gatewall.kernel.changes import DECIDING, Resource
from licensing import services as licensing
from policies import services
from policies.access_rules.services import create_access_rule
from policies.grants.services import create_grant
from policies.grants.share_links import issue_share_link


@pytest.fixture
def used(office, bob):
    """Return a row of each kind with counted uses."""
    end = timezone.now() + timedelta(hours=1)
    return [
        services.block_network(actor="test", network="203.0.113.0/24"),
        services.allow_network(actor="test", network="198.51.100.7", domain=office),
        services.block_country(actor="test", country_code="DE"),
        services.create_waf_rule(actor="test", name="custom", pattern="x1y2"),
        create_access_rule(actor="test", name="api", access="public", paths=[{"match": "prefix", "value": "/api"}]),
        create_grant(actor="test", user=bob, domain=office, expires_at=end),
        issue_share_link(actor="test", name="Anna", domain=office, expires_at=end)[0],
        licensing.issue_license(actor="test", name="robot", all_domains=True)[0],
        licensing.issue_git_token(actor="test", user_id=bob.pk, name="laptop", expires_at=None)[0],
        licensing.issue_app_token(actor="test", user_id=bob.pk, name="cal", expires_at=None, all_domains=True)[0],
    ]


def test_each_list_shows_uses_and_the_last_one_and_sorts_by_them(pages, used):
    for row in used:
        page = admin.site.get_model_admin(type(row))
        at = datetime(2026, 3, 15, 12, 0, 30, tzinfo=UTC)
        UseCount.objects.create(kind=page.use_kind, row_id=row.pk, count=1234567, last_at=at)
        path = f"/{row._meta.app_label}/{row._meta.model_name}/"
        shown = pages.get(path).content.decode()

        assert "1234567<" in shown, path
        assert "2026-03-15 12:00:30 UTC" in shown, path
        for link in re.findall(r'href="([^"]+log/[?][^"]+)"', shown):
            assert pages.client.get(link.replace("&amp;", "&")).status_code == 200, link


def test_domains_have_their_requests_of_24_hours(pages, office):
    services.register_domain(actor="test", name="*.example.net", access="public")
    start = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    counts = json.dumps({"office.example": 1234, "a.example.net": 3, "b.example.net": 4, "other.example": 9})
    SpanCount.objects.create(kind="host", width=3600, start=start, counts=counts, error=0)
    shown = pages.get("/policies/authorizeddomain/").content.decode()

    numbers = dict(re.findall(r'log/\?host=([^"]+)">([^<]+)<', shown))
    assert numbers == {"office.example": "1,234", "%2A.example.net": "7"}
    for host in numbers:
        assert pages.client.get(f"/wall/admin/log/?host={host}").status_code == 200


def test_every_kind_of_deciding_row_shows_its_hits(used):
    pages = [page for page in admin.site._registry.values() if isinstance(page, UsedRowsAdmin)]

    assert {type(row) for row in used} <= {page.model for page in pages}
    for page in pages:
        shown = set(page.list_display)
        assert {"hits", "last_hit"} <= shown or {"uses", "last_used"} <= shown, page
    kinds = {page.use_kind for page in pages}
    assert {kind.value for kind in DECIDING} - kinds == {Resource.DOMAINS.value}  # a domain decides every request
