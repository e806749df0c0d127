"""Long lists: as many statements for 1,000 rows as for 10, an index for each filter, and cached counts."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, get_resolver

from accounts.models import User
from audit.models import AccessLog, SecurityEvent
from gatewall.api import pagination
from gatewall.api.resources import Resource
from licensing.models import GitToken, License
from policies import services
from policies.models import BlocklistEntry

pytestmark = pytest.mark.django_db
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads the plans of SQLite")


def block(number):
    BlocklistEntry.objects.bulk_create(
        BlocklistEntry(network=f"10.{each >> 8}.{each & 255}.1", source="import:many") for each in range(number)
    )


def people(number):
    return User.objects.bulk_create([User(username=f"many{each}", password="!") for each in range(number)])


def licenses(number):
    License.objects.bulk_create(License(name=f"machine {each}", digest=f"{each:064d}") for each in range(number))


def git_tokens(number):
    owner = get_user_model().objects.get(username__iexact="bob").pk
    GitToken.objects.bulk_create(
        GitToken(user_id=owner, name=f"token {each}", digest=f"{each:064d}") for each in range(number)
    )


LONG = {"/ip-black-list": block, "/users": people, "/licenses": licenses, "/users/{bob}/git-tokens": git_tokens}
"""The lists that may have a hundred thousand rows or more, with functions that fill them."""
SHORT = {
    "/users/{bob}/app-tokens": "at most fifty",
    "/ip-white-list": "typed by hand",
    "/waf-rules": "some thousand",
    "/access-rules": "at most a thousand",
    "/grants": "at most a thousand",
    "/access-requests": "typed by hand",
    "/share-links": "at most a thousand",
    "/users/{bob}/device-passes": "at most twenty",
    "/authorized-domains": "typed by hand",
    "/groups": "typed by hand",
    "/api-tokens": "made by hand, by admins",
    "/geo-block-rules": "as many as there are countries",
    "/list-subscriptions": "typed by hand",
    "/identity-providers": "at most 20",
    "/users/{bob}/passkeys": "registered by hand, by one user",
    "/users/{bob}/remembered-devices": "at most 20 of one user",
    "/users/{bob}/totp-devices": "at most five of one user",
    "/webhooks": "typed by hand",
    "/webhooks/{bob}/deliveries": "of one webhook, and deleted when they are old (webhooks/outbox.py)",
    "/policy/backtest": "asked for by hand",
    "/policy/plan": "asked for by hand",
    "/policy/revisions": "in the order of their key",
}
VALUES = {
    "ip": "203.0.113.7", "username": "Bob", "email": "bob@office.example", "source": "import:many", "name": "x",
    "prefix": "gwl_000000", "created_by": "alice", "authorized_domain": "office.example",
}  # fmt: skip
SEARCHED = {
    "/ip-black-list": {"created_by", "ip"},
    "/users": {"email", "is_admin", "is_active", "is_auditor", "all_domains", "totp_enabled", "created_by",
               "authorized_domain", "group", "last_login_at_after", "last_login_at_before", "ordering=last_login_at"},
    "/licenses": {"prefix", "is_active", "all_domains", "created_by", "authorized_domain", "created_at_after",
                  "created_at_before", "expires_at_after", "expires_at_before", "ordering=created_at",
                  "ordering=expires_at"},
    "/users/{bob}/git-tokens": {"ordering=created_at", "created_at_after", "created_at_before"},
}  # fmt: skip
"""Filters and orderings that walk the list, for want of an index, or that sort few rows: those of one user, or of one
address, which some hundred networks can contain."""


def lists(resolver=None, prefix=""):
    """Yield the path and the class of every list that is a resource."""
    for part in (resolver or get_resolver()).url_patterns:
        path = prefix + str(part.pattern)
        if not isinstance(part, URLPattern):
            yield from lists(part, path)
        elif issubclass(getattr(part.callback, "cls", object), Resource) and "list" in part.callback.actions.values():
            plain = re.sub(r"\(\?P<\w+>[^)]*\)", "{bob}", path).replace("\\Z", "").replace("^", "").rstrip("$")
            yield "/" + plain.partition("wall/")[2], part.callback.cls


def asked(name, filterset, orderings):
    """Return the query parameters for this filter or order; time filters are ordered by their column."""
    if name.startswith("ordering="):
        return {"ordering": name.partition("=")[2]}
    column = re.sub("_(after|before)$", "", name)
    openapi = filterset.base_filters[name].extra.get("openapi", {})
    if openapi.get("format") == "date-time":
        ordering = {"ordering": column} if column in orderings else {}
        return {name: "2026-01-01T00:00:00Z", **ordering}
    return {name: VALUES.get(name, "true")}


def plan(admin, path, parameters, table):
    """Return SQLite's query plan for the rows of the page."""
    with CaptureQueriesContext(connection) as queries:
        response = admin.get(path, parameters)
    assert response.status_code == 200, response.content
    found = []
    for query in queries.captured_queries:
        if f'FROM "{table}"' in query["sql"] and "LIMIT" in query["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                found += [row[3] for row in cursor.fetchall()]
    assert found, queries.captured_queries
    return found


def walks(found, table, *, filtered):
    """Return whether the plan sorts all rows or, with a filter, scans the whole table."""
    sorts = "USE TEMP B-TREE FOR ORDER BY" in found
    return sorts or (filtered and any(line.startswith(f"SCAN {table}") for line in found))


def test_every_list_is_classified_as_long_or_short():
    assert {path for path, _ in lists()} - {"/users/{bob}/sessions"} == {*LONG, *SHORT}


@on_sqlite
@pytest.mark.parametrize("path", LONG)
def test_filters_and_orderings_of_long_lists_use_an_index(admin, bob, office, path, monkeypatch):
    for paginator in (Paginator, pagination._CountedOnce):
        monkeypatch.setattr(paginator, "count", 1000)  # an empty page would not be queried
    view = dict(lists())[path]
    table = view.output.Meta.model._meta.db_table
    names = [*view.filterset_class.base_filters, *(f"ordering={each}" for each in view.ordering_fields)]
    found = {name: plan(admin, path.format(bob=bob.pk), asked(name, view.filterset_class, view.ordering_fields), table)
             for name in names}  # fmt: skip

    walked = {name for name, lines in found.items() if walks(lines, table, filtered=not name.startswith("ordering"))}
    assert walked == SEARCHED[path], {name: found[name] for name in walked ^ SEARCHED[path]}


@on_sqlite
@pytest.mark.parametrize(
    ("path", "table", "parameters"),
    [
        *(
            ("/access-logs", AccessLog, {name: value})
            for name, value in (
                ("client_ip", "192.0.2.7"), ("host", "office.example"),
                ("subject_id", "7"), ("reason", "waf-rule"), ("start_time", "2026-01-01T00:00:00Z"),
            )
        ),
        *(
            ("/security-events", SecurityEvent, {name: value})
            for name, value in (("client_ip", "192.0.2.7"), ("kind", "login.failed"), ("user_id", "7"))
        ),
    ],
    ids=str,
)  # fmt: skip
def test_no_page_of_a_log_is_sorted_or_scanned_without_an_index(admin, path, table, parameters):
    found = plan(admin, path, parameters, table._meta.db_table)

    assert "USE TEMP B-TREE FOR ORDER BY" not in found
    assert not [line for line in found if line.startswith("SCAN") and "INDEX" not in line], found


@pytest.mark.parametrize("path", LONG)
def test_a_page_takes_as_many_statements_among_1000_rows_as_among_10(admin, bob, path):
    counts = []
    for number in (10, 1000):
        if number == 1000:
            for model in (BlocklistEntry, License, GitToken):
                model.objects.all().delete()
            User.objects.filter(username__startswith="many").delete()
        LONG[path](number)
        admin.get(path.format(bob=bob.pk))
        with CaptureQueriesContext(connection) as queries:
            body = admin.get(path.format(bob=bob.pk), {"page_size": "10"}).json()
        assert len(body["results"]) == 10
        assert body["count"] >= number
        counts.append(len(queries))

    assert counts[0] == counts[1]


def count_of(admin, **parameters):
    with CaptureQueriesContext(connection) as queries:
        body = admin.get("/ip-black-list", {"page_size": "1", **parameters}).json()
    return body["count"], sum("COUNT(" in query["sql"] for query in queries.captured_queries)


def test_a_long_list_is_counted_once_for_each_version_of_the_policy(admin, monkeypatch):
    monkeypatch.setattr(pagination, "LONG", 5)
    for number in range(5):
        services.block_network(actor="alice", network=f"192.0.2.{number}")

    pages = [count_of(admin, page=str(page)) for page in (1, 2, 3, 4)]
    entry = services.block_network(actor="alice", network="198.51.100.1")
    after_one_more = [count_of(admin), count_of(admin)]
    services.unblock_network(entry, actor="alice")

    assert pages == [(5, 1), (5, 1), (5, 0), (5, 0)]
    assert after_one_more == [(6, 1), (6, 0)]
    assert count_of(admin) == (5, 1)


@pytest.mark.parametrize("planted", [7, b"\xff", "x", " ", "{version} -1", "{version} 1e9", "{version} " + "9" * 5_000])
def test_an_invalid_cached_count_is_ignored(admin, monkeypatch, planted):
    monkeypatch.setattr(pagination, "LONG", 1)
    services.block_network(actor="alice", network="192.0.2.1")
    count_of(admin)
    version = pagination._version()
    planted = planted.replace("{version}", version) if isinstance(planted, str) else planted
    monkeypatch.setattr(pagination.cache, "get", lambda key: planted if key.startswith("list-count:") else None)

    assert count_of(admin)[0] == 1


def test_each_filter_of_a_long_list_has_a_count_of_its_own(admin, monkeypatch):
    monkeypatch.setattr(pagination, "LONG", 1)
    for number in range(4):
        services.block_network(actor="alice" if number else "bob", network=f"192.0.2.{number}")

    counts = [[count_of(admin, created_by=name)[0] for name in ("alice", "bob", "nobody")] for _ in range(3)]

    assert counts == [[3, 1, 0]] * 3


@pytest.mark.parametrize(
    ("ip", "expected"),
    [
        ("192.0.2.7", {"192.0.2.0/24", "192.0.2.7"}),
        ("192.0.2.6/31", {"192.0.2.0/24", "192.0.2.7"}),
        ("192.0.2.0/24", {"192.0.2.0/24", "192.0.2.7", "192.0.2.128/25"}),
        ("192.0.0.0/16", {"192.0.2.0/24", "192.0.2.7", "192.0.2.128/25"}),
        ("2001:db8::7", {"2001:db8::/32", "2001:db8::7"}),
        ("2001:db8::/120", {"2001:db8::/32", "2001:db8::7"}),
        ("2001:db8::/64", {"2001:db8::/32", "2001:db8::7"}),
        ("2001:db8::8", {"2001:db8::/32"}),
    ],
)
def test_filters_for_small_and_large_networks_agree(admin, ip, expected):
    for network in ("192.0.2.0/24", "192.0.2.7", "192.0.2.128/25", "2001:db8::/32", "2001:db8::7", "198.51.100.0/24"):
        services.block_network(actor="alice", network=network)

    assert {row["ip"] for row in admin.get("/ip-black-list", {"ip": ip}).json()["results"]} == expected
