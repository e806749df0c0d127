"""The log explorer: the API's filters in its URL, paging, and escaping of untrusted values."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.log.filters import FILTERS
from gatewall.console.log.log_query import read_query
from gatewall.console.log.log_rows import LABELS
from tests.admin.conftest import Fields
from tests.console.conftest import ago, query_of
from tests.console.log_rows import PAGE, a_few, numbers, shown
from tests.support.cast import OFFICE
from tests.support.proxies import Api, a_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, [1, 2, 3, 4]),
        ({"client_ip": "203.0.113.0/24"}, [2]),
        ({"exclude_client_ip": "203.0.113.0/24"}, [1, 3, 4]),
        ({"host": "*.example", "exclude_host": "git.example"}, [1, 3, 4]),
        ({"path": "/repo*"}, [2]),
        ({"country_code": ""}, [2]),
        ({"outcome": "deny", "exclude_method": "POST"}, [1, 2]),
        ({"reason": "session-valid", "status": "200"}, [3]),
        ({"rule_id": "7", "exclude_user_agent": "sql*"}, [1, 2]),
        ({"subject": "user:2"}, [1, 2, 4]),
        ({"start_time": "2026-03-15T09:30:00Z", "end_time": "2026-03-15T10:30:00Z"}, [2]),
    ],
)
def test_the_filters_are_those_of_the_api(pages, alice, log, query, found):
    a_few(log)

    page = shown(pages, **query)
    rows = Api(a_token(alice)).get("/access-logs", query).json()["results"]

    assert numbers(page) == found == [int(row["decision_id"][-4:]) for row in rows]
    assert page.context["number"] == len(found)
    assert {chip.name: chip.value for chip in page.context["chips"]} == query


@pytest.mark.parametrize(
    "query",
    [
        *("client_ip=nonsense", "status=7", "outcome=perhaps", "start_time=yesterday", "host=a%20b", "rule_id=x"),
        *("colour=red", "client_ip=192.0.2.1&client_ip=192.0.2.2", "cursor=x", "trail=x", "page_size=201", "refresh=5"),
        *("country_code=DEU", "exclude_latency_us_min=1", "path=", "path=%FF", "path=%00", "count=yes", "subject=x:1"),
        "start_time=2026-03-15T10:30:00Z&end_time=2026-03-15T09:30:00Z",
    ],
)
def test_the_page_shows_invalid_parameters(pages, log, query):
    a_few(log)

    page = pages.get(f"{PAGE}?{query}")

    assert page.status_code == 400
    assert page.context["log_query"].errors
    assert page.context["rows"] == []
    html = unescape(page.content.decode())
    assert all(words in html for several in page.context["log_query"].errors.values() for words in several)


def test_an_invalid_filter_is_marked_at_its_field(pages):
    html = pages.get(f"{PAGE}?client_ip=nonsense").content.decode()

    assert re.search(r'value="nonsense"[^>]*aria-invalid="true" aria-describedby="e-client_ip"', html)
    assert 'id="e-client_ip"' in html


def test_every_filter_of_the_api_has_a_label_and_can_be_chosen(pages):
    assert set(FILTERS) <= set(LABELS)
    assert [name for name, _ in pages.get(PAGE).context["fields"]] == list(FILTERS)


def test_each_value_links_to_a_filter_and_to_an_exclusion(pages, log):
    a_few(log)
    page = shown(pages, start_time="2026-03-15T00:00:00Z")
    row = page.context["rows"][1]

    assert set(row.cells) == {
        *("outcome", "reason", "client_ip", "country_code", "method", "host", "path", "query", "user_agent", "status"),
        "subject",
    }
    for name in ("client_ip", "country_code", "host", "path", "query"):
        cell = row.cells[name]
        assert numbers(pages.get(f"{PAGE}?{cell.only}")) == [2], name
        assert numbers(pages.get(f"{PAGE}?{cell.exclude}")) == [1, 3, 4], name
        assert query_of(f"?{cell.only}")["start_time"] == "2026-03-15T00:00:00Z"
    assert numbers(pages.get(f"{PAGE}?{row.rules[0].exclude}")) == [3]


def test_filtering_by_a_value_removes_its_exclusion(pages, log):
    a_few(log)
    row = shown(pages, exclude_host="git.example").context["rows"][0]

    assert query_of(f"?{row.cells['host'].only}") == {"host": "office.example"}


def test_a_chip_removes_only_its_own_filter(pages, log):
    a_few(log)
    chips = shown(pages, outcome="deny", exclude_method="POST", page_size="25").context["chips"]

    assert {chip.name: query_of(f"?{chip.without}") for chip in chips} == {
        "outcome": {"exclude_method": "POST", "page_size": "25"},
        "exclude_method": {"outcome": "deny", "page_size": "25"},
    }


def test_pages_link_forward_and_back_and_keep_their_size(pages, log):
    log(*(ago(number, number / 10) for number in range(1, 12)))
    page, seen = shown(pages, page_size=3, outcome="deny"), []
    while True:
        seen.append(numbers(page))
        if page.context["older"] is None:
            break
        page = pages.get(f"{PAGE}?{page.context['older']}")
        assert page.context["log_query"].page_size == 3
    assert seen == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11]]
    for expected in reversed(seen[:-1]):
        page = pages.get(f"{PAGE}?{page.context['newer']}")
        assert numbers(page) == expected
    assert page.context["newer"] is page.context["newest"] is None


def test_the_number_of_previous_pages_is_limited(pages, log):
    log(*(ago(number, number / 10) for number in range(1, 30)))
    page = shown(pages, page_size=1)
    query = page.context["older"]
    for _ in range(25):
        now = read_query(query)
        query = now.older(now.after)
    page = pages.get(f"{PAGE}?{query}")

    assert page.status_code == 200
    assert len(page.context["log_query"].trail) == 20
    assert numbers(pages.get(f"{PAGE}?{page.context['newest']}")) == [1]


def test_the_filter_form_redirects_to_the_filtered_address(pages):
    def found(**values):
        response = pages.get(f"{PAGE}find/?{urlencode(values)}")
        assert response.status_code == 302
        return query_of(response.url)

    assert found(client_ip=" 192.0.2.7 ", host="", outcome="deny") == {"client_ip": "192.0.2.7", "outcome": "deny"}
    assert found(rest="country_code=&method=GET", method="") | {} == {"country_code": "", "method": ""}
    assert found(start_time="2026-03-15T09:30") == {"start_time": "2026-03-15T09:30:00Z"}
    assert found(start_time="2026-03-15T09:30:01") == {"start_time": "2026-03-15T09:30:01Z"}
    assert found(start_time="soon") == {"start_time": "soon"}
    assert found(rest="host=a.example", host="") == {}
    assert found(rest="country_code=", country_code="") == {"country_code": ""}
    assert found(rest="country_code=", country_code="NZ") == {"country_code": "NZ"}
    assert found(add_field="country_code", add_verb="is-not", add_value="germany") == {"exclude_country_code": "DE"}
    assert found(add_field="country_code", add_verb="is", add_value="Ge") == {"country_code": "Ge"}
    assert found(add_field="method", add_verb="is-not", add_value="POST") == {"exclude_method": "POST"}
    assert found(add_field="country_code", add_verb="has-none", add_value="") == {"country_code": ""}
    assert found(add_field="subject", add_verb="has-some", add_value="x") == {"exclude_subject": ""}
    assert found(add_field="method", add_verb="is", add_value="") == {}
    assert found(colour="red") == {"colour": "red"}
    assert pages.get(f"{PAGE}find/?{urlencode({'rest': '&'.join('a=b' for _ in range(200))})}").status_code == 400


@pytest.mark.parametrize(("asked", "label"), [("nz", "New Zealand (NZ)"), ("XK", "XK")])
def test_a_country_is_picked_by_its_name(pages, asked, label):
    words = pages.get(f"{PAGE}?country_code={asked}").content.decode()

    assert f'<option value="{asked.upper()}" selected>{label}</option>' in words


def test_the_name_of_a_country_in_a_url_is_refused(pages):
    page = pages.get(f"{PAGE}?country_code=Germany")

    assert page.status_code == 400
    assert "a country code of two letters, like DE" in page.content.decode()


def test_exports_have_the_same_filters_and_open_with_the_admin_session(pages, log):
    a_few(log)
    page = shown(pages, outcome="deny", exclude_method="POST", page_size=25, refresh=10)

    for (kind, url), lines in zip(page.context["exports"], (2, 3), strict=True):
        assert query_of(url) == {"outcome": "deny", "exclude_method": "POST", "format": kind.lower()}
        response = pages.client.get(url)
        assert response.status_code == 200
        assert len(response.getvalue().splitlines()) == lines


def test_the_page_refreshes_until_it_is_stopped(pages, log):
    a_few(log)
    page = shown(pages, outcome="deny", refresh=10)

    assert page["Refresh"] == "10"
    off = page.context["refreshes"][0][1]
    assert query_of(f"?{off}") == {"outcome": "deny"}
    assert not pages.get(f"{PAGE}?{off}").has_header("Refresh")
    assert not pages.get(f"{PAGE}?outcome=perhaps&refresh=10").has_header("Refresh")


EVIL = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "/\u202e\u05d0\u05d1exe.gnp",
    "/" + "A" * 2000,
    "/" + "*" * 40,
    "/a\nb",
    "{{ 7 }}{% debug %}",
]


@pytest.mark.parametrize("evil", EVIL)
def test_untrusted_text_is_escaped(pages, log, evil):
    log(ago(1, 1, path=evil, query=evil, user_agent=evil[:500], host="*.evil", rules=[]))

    page = shown(pages)
    html = page.content.decode()

    assert numbers(page) == [1]
    assert evil in unescape(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert not re.search(r'(href|src|action)="\s*javascript:', html)
    cells = page.context["rows"][0].cells
    for cell in (cells["path"], cells["user_agent"]):
        assert not cell.only or numbers(shown(pages, **query_of(f"?{cell.only}"))) == [1]
        assert not cell.exclude or numbers(shown(pages, **query_of(f"?{cell.exclude}"))) == []


def test_the_number_of_statements_does_not_grow_with_the_rows(pages, log):
    def cost():
        with CaptureQueriesContext(connection) as statements:
            shown(pages, outcome="deny")
        return len(statements)

    log(ago(1, 1))
    few = cost()
    log(*(ago(number, number / 100) for number in range(2, 60)))

    assert cost() == few <= 15


def test_a_row_opens_to_every_field_and_has_a_link_of_its_own(pages, log):
    shadow = {"effect": "allow", "reason": "session-valid"}
    log(ago(1, 1, waf_score=8, shadow=shadow, decision_id="00000000-0000-4000-8000-000000000001"), ago(2, 2))
    row = shown(pages).context["rows"][0]
    facts = {label: [cell.text for cell in cells] for label, cells in row.facts}

    assert facts["client"] == ["198.51.100.7"]
    assert facts["subject (kind:id)"] == ["user Bob"]
    assert facts["shadow policy"] == ["allow", "session-valid"]
    assert facts["WAF score"] == ["8"]
    for _label, cells in row.facts:
        for cell in cells:
            assert not cell.only or 1 in numbers(pages.get(f"{PAGE}?{cell.only}")), cell.name
    page = pages.client.get(row.link)
    assert numbers(page) == [1]
    assert 'aria-label="Details" checked' in page.content.decode()
    assert page.context["histogram"] is None


def test_only_admins_see_the_log(bob, client):
    client.force_login(bob)
    for path in ("log/", "log/rows/", "log/find/", "log/views/", "log/ban/", "log/allow/"):
        assert client.get(f"/wall/admin/{path}").status_code == 302
        assert client.post(f"/wall/admin/{path}").status_code in {302, 403}


def test_filters_become_the_conditions_of_an_access_rule(pages, office):
    def link(query):
        found = re.search(r'href="([^"]+)">Make an access rule of these<', pages.get(f"/log/?{query}").content.decode())
        return unescape(found[1]) if found else ""

    url = link(f"client_ip=203.0.113.0/24&country_code=DE&host={OFFICE}&path=/api/*&method=POST&outcome=deny")
    form = pages.client.get(url)
    sent = Fields(form.content.decode()).values
    assert (sent["networks"], sent["countries"], sent["methods"]) == (["203.0.113.0/24"], ["DE"], ["POST"])
    assert (sent["domains"], sent["paths_match"][0], sent["paths_value"][0]) == ([str(office.pk)], "prefix", "/api")
    for query in (
        "outcome=deny",
        "exclude_country_code=DE",
        "host=other.example",
        "path=*/x",
        "country_code=",
        "rule_id=1",
    ):
        assert link(query) == "", query
