"""The shown matches of WAF rules contain no secret."""

import json
import logging

import pytest

from audit.spool.masking import MASK
from policies import services
from tests.api.waf_trials import places, rule
from tests.support.cast import CLIENT, OFFICE, OPEN_LICENSE

pytestmark = pytest.mark.django_db


SECRET = OPEN_LICENSE


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("uri", {"uri": f"/?token={SECRET}"}),
        ("uri", {"uri": f"/{SECRET}/a"}),
        ("path", {"uri": f"/{SECRET}/a"}),
        ("query", {"uri": f"/?a=1&b={SECRET}"}),
        ("query", {"uri": "/?password=hunter%3F22"}),
        ("args", {"uri": f"/?q={SECRET}"}),
        ("args", {"uri": "/?password=hunter%3F22"}),
        ("args", {"uri": "/?" + "a=b&" * 70 + "password=hunter%3F22"}),
        ("arg-names", {"uri": f"/?{SECRET}=1"}),
        ("headers", {"headers": {"X-Auth-Token": "hunter?22"}}),
        ("headers", {"headers": {"Cookie": "__Host-session=hunter?22"}}),
        ("headers", {"headers": {"X-Other": f"Bearer {SECRET}"}}),
        ("cookies", {"headers": {"Cookie": "__Host-session=hunter?22"}}),
        ("cookies", {"headers": {"Cookie": "; ".join(f"c{n}=x" for n in range(70)) + "; sid=hunter?22"}}),
        ("referer", {"headers": {"Referer": "https://shop.example/?password=hunter?22"}}),
        ("user-agent", {"headers": {"User-Agent": f"bot {SECRET}"}}),
        ("body", {"body": '{"password": "hunter?22"}'}),
        ("body", {"body": "<login><password>hunter?22</password></login>"}),
        ("body", {"body": "user=anna&password=hunter?22"}),
        ("body", {"body": 'Content-Disposition: form-data; name="password"\r\n\r\nhunter?22'}),
    ],
    ids=str,
)
def test_a_secret_is_in_no_answer_and_no_log(tried, caplog, target, parts):
    caplog.set_level(logging.DEBUG)
    rule(pattern=r"hunter.{1,3}22|nter\S+|(?i)gwl_\w+|CCCCCCCC\w*", targets=[target])

    answer = tried(**parts)

    assert answer["blocked"] is True
    assert {place["text"] for place in places(answer)} == {MASK}
    for secret in ("hunter", SECRET, "CCCCCCCC"):
        assert secret not in json.dumps(answer)
        assert secret not in caplog.text


def test_a_secret_beside_the_match_leaves_the_match_visible(tried):
    rule(targets=["uri"])

    assert places(tried(f"/attack?token={SECRET}"))[0]["text"] == "attack"


def test_a_token_is_in_no_explanation(admin, wall, bob):
    services.create_waf_rule(actor="alice", name="watch", pattern="gw._\\w+", action="monitor")
    token = wall.a_git_token(bob)

    credential = {"kind": "git-token", "token": f"Bob:{token}"}
    visit = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": f"/?q={token}", "credential": credential}

    explanation = admin.post("/policy/explain", visit).json()

    assert [each["name"] for each in explanation["rules"]] == ["watch"]
    assert token[4:20] not in str(explanation)
