"""Measuring the built-in rules on files of requests."""

import gzip
import json

import pytest

from gatewall.engine.waf.judge import Judge
from gatewall.whatif.waf_rates import (
    SHARES,
    CorpusRefused,
    application_table,
    by_application,
    measure,
    share_of,
    table,
)  # fmt: skip

RE2 = Judge(None)


def item(number, label, uri, visible="uri", **parts):
    return {"id": str(number), "label": label, "visible": visible, "method": "GET", "uri": uri, "headers": {}, **parts}


ITEMS = [item(number, "attack", "/?a=<script>alert(1)</script>") for number in range(20)]
ITEMS += [item(100 + number, "attack", "/?a=nothing+of+it") for number in range(20)]
ITEMS += [item(200 + number, "benign", "/?a=b") for number in range(20)]
ITEMS += [item(300, "attack", "/", "header", headers={"User-Agent": "sqlmap/1"})]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ITEMS += [item(500, "attack", "/", "body", headers=FORM, body="a=<script>alert(1)</script>")]
ITEMS += [item(501, "benign", "/", "body", headers=FORM, body="a=b", meta={"application": "x"})]
ITEMS += [item(502, "benign", "/", "body", headers=FORM, body="a=' or 1=1--", meta={"application": "x"})]
ITEMS += [item(400, "attack", "/?a=nothing", meta={"paranoia": 3})]


@pytest.fixture(params=["x.jsonl", "x.jsonl.gz"])
def folder(tmp_path, request):
    text = "".join(json.dumps(each) + "\n" for each in ITEMS)
    data = text.encode()
    (tmp_path / request.param).write_bytes(gzip.compress(data) if request.param.endswith("gz") else data)
    return tmp_path


def test_both_shares_are_counted_and_add_up(folder):
    rates = list(measure(folder, RE2))

    assert [each.share for each in rates] == list(SHARES)
    assert sum(sum(each.seen.values()) for each in rates) == 64
    assert sum(each.refused["attack", "uri"] for each in rates) == 20
    assert sum(each.refused["attack", "header"] for each in rates) == 1
    assert [each.mistakes() for each in rates] == [0, 0]
    assert all(table(each).startswith(f"| x | {each.share} |") for each in rates)


def test_share_of_a_request_never_changes():
    assert [share_of(f"blazehttp-{number}") for number in range(6)] == [
        "validation", "validation", "validation", "validation", "tuned", "tuned",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["{", "[]\n", '{"id": "1"}\n', '{"id": "1", "label": "attack", "meta": 5}\n'])
def test_line_that_is_no_request_is_named(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)

    with pytest.raises(CorpusRefused, match=r"x\.jsonl:1 is not"):
        list(measure(tmp_path, RE2))


def test_empty_folder_is_refused(tmp_path):
    with pytest.raises(CorpusRefused, match=r"no \.jsonl"):
        list(measure(tmp_path, RE2))


def test_requests_are_measured_with_their_bodies_too(folder):
    rates = list(measure(folder, RE2))

    assert sum(each.refused["attack", "body"] for each in rates) == 0
    assert sum(each.refused_with_body["attack", "body"] for each in rates) == 1
    assert sorted(refused for each in rates for refused in each.with_body) == [False, True]
    assert {each.mistakes_with_bodies() for each in rates} <= {None, 0, 0.5, 1}
    assert all(each.detected_with_bodies() is not None for each in rates)


def test_applications_are_counted_with_their_bodies(folder):
    found = by_application(folder, RE2)

    assert [(name, each.seen, each.with_body, each.refused) for name, each in found.items()] == [("x", 2, 2, 1)]
    assert application_table("x", found["x"]).startswith("| x | 2 | 2 | 1 | ")


@pytest.mark.parametrize("text", ['{"id": "1", "label": "attack", "meta": 5}', '{"meta": {"application": "x"}}'])
def test_line_that_is_no_request_of_an_application_is_named(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text + "\n")

    with pytest.raises(CorpusRefused, match=r"x\.jsonl:1 is not"):
        by_application(tmp_path, RE2)
