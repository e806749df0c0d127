"""``GET /access-logs?format=``: the log as a download."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AccessLog
from audit.querying import keyset
from tests.support.cast import NOW
from tests.support.logs import listed
from tests.support.records import a_record

pytestmark = pytest.mark.django_db


def export(admin, kind, **parameters):
    response = admin._client.get("/wall/access-logs", {"format": kind, **parameters})
    assert response.status_code == 200
    return response


def test_an_ndjson_export_has_the_rows_of_the_list(admin, log):
    log(*(a_record(n, at=NOW + n, path=f"/{n}\u00e9") for n in range(5)))

    response = export(admin, "ndjson", exclude_path="/3*")
    lines = [json.loads(line) for line in response.getvalue().splitlines()]

    assert lines == listed(admin, exclude_path="/3*")["results"]
    assert response.headers["Content-Type"] == "application/x-ndjson"
    assert response.headers["Content-Disposition"] == 'attachment; filename="access-log.ndjson"'


def test_a_csv_export_has_the_rows_of_the_list(admin, log):
    log(a_record(1, path='/"a",b', user_agent="two\nlines"), a_record(2, at=NOW - 1, host=None, subject=None))

    text = export(admin, "csv").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))

    assert [row["path"] for row in rows] == ['/"a",b', "/wiki"]
    assert json.loads(rows[0]["rules"]) == [{"id": 7, "name": "attack", "action": "block"}]
    assert (rows[1]["host"], rows[1]["subject"], rows[1]["latency_us"]) == ("", "", "42")
    assert text.count("\r\n") == 3


def test_a_csv_of_no_rows_has_its_columns(admin):
    assert export(admin, "csv").getvalue().startswith(b"decision_id,at,client_ip")


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t1", "\r1", "\n1", "  =1", "\uff1d1", "=cmd|' /C calc'!A0"]


def test_no_cell_of_a_csv_is_a_formula(admin, log):
    log(*(a_record(number, user_agent=text) for number, text in enumerate(FORMULAS)))

    rows = csv.DictReader(io.StringIO(export(admin, "csv").getvalue().decode(), newline=""))

    assert {row["user_agent"] for row in rows} == {f"'{text}" for text in FORMULAS}


PARTED = ("x{0}=1+1", "{0}=1+1", "x{0} =1+1", 'x"{0}"=1+1', "x{0}{0}@A1", "x\n=1", 'a,"{0}-1')


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_cell_of_a_csv_is_a_formula_wherever_a_spreadsheet_parts_cells(admin, log, separator):
    agents = [text.format(separator) for text in PARTED]
    log(*(a_record(number, user_agent=text) for number, text in enumerate(agents)))
    log(*(a_record(100 + number, path=f"/{text}") for number, text in enumerate(agents)))

    text = export(admin, "csv").getvalue().decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))

    assert len(rows) > 2 * len(agents)
    assert not [cell for row in rows for cell in row if cell.lstrip(" ").startswith(("=", "@", "+", "-"))]


def test_an_export_is_streamed_page_by_page(admin, log, monkeypatch):
    monkeypatch.setattr(keyset, "EXPORT_PAGE", 2)
    log(*(a_record(n, at=NOW + n) for n in range(7)))

    response = admin._client.get("/wall/access-logs", {"format": "ndjson"})
    with CaptureQueriesContext(connection) as queries:
        parts = iter(response.streaming_content)
        first = next(parts)
        asked_for_one = len(queries)
        rest = list(parts)

    assert json.loads(first)["decision_id"].endswith("6")
    assert (asked_for_one, len(queries), len(rest)) == (1, 4, 6)
    assert all("LIMIT 3" in query["sql"] for query in queries.captured_queries)


def test_an_export_stops_querying_after_the_caller_disconnects(admin, log, monkeypatch):
    monkeypatch.setattr(keyset, "EXPORT_PAGE", 1)
    log(*(a_record(n, at=NOW + n) for n in range(5)))
    response = admin._client.get("/wall/access-logs", {"format": "csv"})
    parts = iter(response.streaming_content)
    next(parts)

    with CaptureQueriesContext(connection) as queries:
        response.close()

    assert len(queries) == 0


def test_an_export_holds_no_transaction_and_no_cursor_open(admin, log, monkeypatch):
    monkeypatch.setattr(keyset, "EXPORT_PAGE", 1)
    log(*(a_record(n, at=NOW + n) for n in range(3)))
    parts = iter(admin._client.get("/wall/access-logs", {"format": "ndjson"}).streaming_content)
    next(parts)

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            assert cursor.fetchone() == (0,)
    AccessLog.objects.filter(at__lt=datetime.fromtimestamp(NOW + 1.5, UTC)).delete()

    assert list(parts) == []


def test_a_head_of_an_export_reads_no_row(admin, log):
    log(a_record(1))

    with CaptureQueriesContext(connection) as queries:
        response = admin.send("HEAD", "/access-logs?format=csv")

    assert (response.status_code, response.getvalue()) == (200, b"")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert not any("audit_accesslog" in query["sql"] for query in queries.captured_queries)


@pytest.mark.parametrize("accept", ["text/csv", "application/x-ndjson", "text/html", "*/*"])
def test_the_format_parameter_overrides_the_accept_header(admin, accept):
    response = admin.get("/access-logs", {"format": "csv"}, headers={"Accept": accept})

    assert response.headers["Content-Type"].startswith("text/csv")
    assert admin.get("/access-logs", {"format": "xml"}, headers={"Accept": "text/csv"}).status_code in {400, 406}


def test_no_middleware_buffers_an_export():
    gathers = ("gzip", "ConditionalGet", "UpdateCache", "FetchFromCache")

    assert not [name for name in django_settings.MIDDLEWARE if any(part.lower() in name.lower() for part in gathers)]


def test_an_export_begins_behind_a_cursor(admin, log):
    log(*(a_record(n, at=NOW + n) for n in range(4)))
    cursor = listed(admin, page_size=2)["next"].partition("cursor=")[2].partition("&")[0]

    lines = export(admin, "ndjson", cursor=cursor).getvalue().splitlines()

    assert [json.loads(line)["decision_id"][-1] for line in lines] == ["1", "0"]
