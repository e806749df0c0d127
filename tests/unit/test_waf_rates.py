"""Measuring the built-in rules on files of requests."""

import gzip
import json

import pytest

from gatewall.engine.waf.judge import Judge
from gatewall.whatif.waf_rates import SHARES, CorpusRefused, measure, share_of, table

RE2 = Judge(None)


def item(number, label, uri, visible="uri", **parts):
    return {"id": str(number), "label": label, "visible": visible, "method": "GET", "uri": uri, "headers": {}, **parts}


ITEMS = [item(number, "attack", "/?a=<script>alert(1)</script>") for number in range(20)]
ITEMS += [item(100 + number, "attack", "/?a=nothing+of+it") for number in range(20)]
ITEMS += [item(200 + number, "benign", "/?a=b") for number in range(20)]
ITEMS += [item(300, "attack", "/", "header", headers={"User-Agent": "sqlmap/1"})]
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
    assert sum(sum(each.seen.values()) for each in rates) == 61
    assert sum(each.refused["attack", "uri"] for each in rates) == 20
    assert sum(each.refused["attack", "header"] for each in rates) == 1
    assert [each.mistakes() for each in rates] == [0, 0]
    assert all(table(each).startswith(f"| x | {each.share} |") for each in rates)


def test_share_of_a_request_is_for_ever():
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
