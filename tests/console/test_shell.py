"""The frame of the console: the sidebar with every page, the search, the size of scripts and style sheets."""

import re
import uuid
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from gatewall.console.shell import navigation
from gatewall.console.urls import urlpatterns
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.snapshot.host_paths import backups_folder
from licensing import services as licensing
from policies import services as policies

pytestmark = pytest.mark.django_db
STATIC = [settings.BASE_DIR / room for room in ("gatewall/console/static", "gatewall/static", "policies/static")]


def sidebar_of(response):
    return re.search(r'<nav id="sidebar".*?</nav>', response.content.decode(), re.DOTALL)[0]


def links_of(text):
    return re.findall(r'<a href="([^"]+)"', text)


def found(pages, text):
    page = pages.get(f"/search/?q={text}")
    assert page.status_code == 200
    return {group.title: [each.label for each in group.results] for group in page.context["groups"]}


def test_every_registered_model_is_in_the_sidebar_once(pages):
    shown = Counter(links_of(sidebar_of(pages.get("/dashboard/"))))

    for model in admin.site._registry:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert shown[url] == 1, url


@pytest.mark.parametrize("view", sorted({pattern.name for pattern in urlpatterns} - navigation.NOT_PAGES))
def test_every_operator_page_belongs_to_an_item_of_the_sidebar(rf, view):
    request = rf.get("/")
    request.resolver_match = SimpleNamespace(namespace="console", url_name=view)

    assert navigation.current_item(request)


def test_every_kind_of_page_has_the_sidebar_with_its_own_item_marked(pages, bob):
    group = policies.block_network(actor="test", network="203.0.113.0/24")
    expected = {
        "/": "/wall/admin/",
        "/log/": "/wall/admin/log/",
        "/accounts/user/": "/wall/admin/accounts/user/",
        f"/accounts/user/{bob.pk}/change/": "/wall/admin/accounts/user/",
        f"/policies/blocklistentry/{group.pk}/delete/": "/wall/admin/policies/blocklistentry/",
        f"/policies/blocklistentry/{group.pk}/history/": "/wall/admin/policies/blocklistentry/",
        "/gatewall/systemsettings/1/change/": "/wall/admin/gatewall/systemsettings/",
        "/licensing/license/add/": "/wall/admin/licensing/license/",
    }
    for path, item in expected.items():
        marked = re.findall(r'<a href="([^"]+)" aria-current="page"', sidebar_of(pages.get(path)))
        assert marked == [item], path


@pytest.mark.parametrize(
    ("section", "label", "path"),
    [
        ("Protection", "Bans", "/policies/blocklistentry/?source=auto-ban"),
        ("Policy", "Policy document", "/plan/?document=current"),
    ],
)
def test_a_shortcut_links_to_a_part_of_a_page_and_is_marked_only_there(pages, section, label, path):
    shown = pages.get(path)
    marked = re.findall(r'<a href="([^"]+)" aria-current="page">([^<]+)', sidebar_of(shown))

    assert shown.status_code == 200
    assert marked == [(f"/wall/admin{path}", label)]
    assert section in re.search(r'<ol class="breadcrumbs">.*?</ol>', shown.content.decode(), re.DOTALL)[0]


def test_the_waf_settings_are_a_group_of_the_settings(pages):
    (url,) = [link for link in links_of(sidebar_of(pages.get("/"))) if link.endswith("#waf")]

    assert 'id="waf"' in pages.client.get(url).content.decode()


def test_hosts_show_problems_and_fixes(pages):
    seen = {"revision": revisions.current().revision, "unconfirmed_seconds": 0.0}
    workers = [{"pid": 7, "revision": seen["revision"], "rejected": ""}]
    Node.objects.create(name="one", seen_at=timezone.now(), workers=workers, **seen)
    Node.objects.create(name="two", seen_at=timezone.now() - timedelta(hours=1), problem="disk is full", **seen)
    rejected = [{"pid": 8, "revision": 0, "rejected": "bad signature"}]
    Node.objects.create(name="three", seen_at=timezone.now(), workers=rejected, **seen)
    advice = {host.node.name: list(map(str, words)) for host, words in pages.get("/hosts/").context["hosts"]}
    html = pages.get("/hosts/").content.decode()

    assert advice["one"] == []
    assert "Start Gatewall on it" in advice["two"][0]
    assert len(advice["three"]) == 2
    assert "disk is full" in html
    assert "bad signature" in html


def test_the_backup_page_names_a_place_that_every_installation_may_write(pages):
    html = pages.get("/backup/").content.decode()
    folder = backups_folder(settings.CONFIG.home)

    assert f"gatewall backup {folder}/gatewall-$(date +%F)" in html
    assert f"gatewall restore {folder}/FILE" in html


def test_the_page_of_a_row_has_breadcrumbs(pages):
    entry = policies.block_network(actor="test", network="203.0.113.0/24")
    html = pages.get(f"/policies/blocklistentry/{entry.pk}/change/").content.decode()
    crumbs = re.search(r'<ol class="breadcrumbs">.*?</ol>', html, re.DOTALL)[0]

    assert re.findall(r">([^<>\n]+)<", crumbs) == ["Home", "Protection", "Blocklist entries", "203.0.113.0/24"]


def test_the_breadcrumbs_name_the_dashboard_once(pages):
    for path in ("/", "/dashboard/"):
        html = pages.get(path).content.decode()
        crumbs = re.search(r'<ol class="breadcrumbs">.*?</ol>', html, re.DOTALL)[0]

        assert re.findall(r">([^<>\n]+)<", crumbs) == ["Home", "Dashboard"], path


def test_the_sign_in_page_has_no_sidebar(client):
    html = client.get("/wall/admin/login/").content.decode()

    assert 'id="sidebar"' not in html
    assert 'id="search"' not in html


def test_pages_are_found_by_name(pages):
    assert found(pages, "doct")["Pages"] == ["Proxy doctor"]


def test_rows_are_found_by_name(pages, bob, office):
    licensing.issue_license(actor="test", name="robot", all_domains=True)

    assert found(pages, "bob")["Users"] == ["Bob"]
    assert found(pages, "robo") == {"Licenses": ["robot"]}
    assert "office.example" in found(pages, "office")["Domains"]


def test_an_address_leads_to_its_requests_and_entries(pages):
    policies.block_network(actor="test", network="203.0.113.0/24")

    assert found(pages, "203.0.113.0/24")["Address"] == [
        "Requests from 203.0.113.0/24",
        "203.0.113.0/24",
        "Ban 203.0.113.0/24",
        "Allow 203.0.113.0/24",
    ]


def test_a_decision_is_found_by_its_id(pages, visits):
    decision = visits(uri="/papers")

    assert found(pages, decision)["Decision"][0].startswith("GET office.example/")
    assert found(pages, uuid.uuid4()) == {}


def test_a_search_has_at_most_six_results_of_a_kind_and_a_link_to_all(pages):
    for number in range(8):
        licensing.issue_license(actor="test", name=f"robot {number}", all_domains=True)
    (group,) = pages.get("/search/?q=robot").context["groups"]

    assert len(group.results) == 6
    assert len(pages.client.get(group.more).context["cl"].result_list) == 8


@pytest.mark.parametrize("text", ["", "%00", "x" * 201, "<script>alert(1)</script>", "%25%27%22", "198.51.100.0/8"])
def test_a_strange_search_finds_nothing_and_is_escaped(pages, text):
    page = pages.get(f"/search/?q={text}")

    assert page.status_code in {200, 400}
    assert "<script>alert" not in page.content.decode()
    assert not page.context.get("groups")


def test_only_admins_may_search(client, bob):
    client.force_login(bob)

    assert client.get("/wall/admin/search/?q=bob").status_code == 302


@pytest.mark.parametrize("kind", ["css", "js"])
def test_the_console_loads_at_most_60_kb_of_scripts_and_of_style_sheets(kind):
    files = [path for room in STATIC for path in Path(room).rglob(f"*.{kind}")]

    assert len(files) >= 2
    assert sum(path.stat().st_size for path in files) <= 60 * 1024
