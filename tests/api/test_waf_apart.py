"""A custom rule whose pattern is scanned apart: a warning to its author, one log message, no cost for others."""

import pytest

from gatewall.engine.waf.vector import AVAILABLE
from policies.models import WafRule

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
WORDS = "RE2 scans for this pattern by itself"


def warnings_of(response):
    return response.json().get("warnings", [])


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


def test_creating_a_rule_scanned_apart_returns_a_warning_and_logs_it_once(admin, caplog, committed):
    with committed():
        created = admin.post("/waf-rules", {"name": "odd", "pattern": "a$b"})
    path = f"/waf-rules/{created.json()['id']}"

    assert created.status_code == 201
    assert [text.endswith("Embedded end anchors not supported.") for text in warnings_of(created)] == [True]
    assert warnings_of(admin.put(path, {"description": "of ours"})) == warnings_of(created)
    assert "warnings" not in admin.get(path).json()
    assert caplog.text.count(WORDS) == 1
    assert f"WAF rule {created.json()['id']} (odd): {WORDS}" in caplog.text


@pytest.mark.parametrize("trial", ["/policy/plan", "/policy/backtest"])
def test_a_trial_of_a_rule_scanned_apart_logs_nothing(admin, caplog, committed, trial):
    with committed():
        tried = admin.post(trial, {"resource": "waf-rules", "values": {"name": "odd", "pattern": "a$b"}})

    assert tried.status_code == 201
    assert WORDS not in caplog.text


def test_a_changed_pattern_returns_and_logs_the_warning_again(admin, caplog, committed):
    path = f"/waf-rules/{admin.post('/waf-rules', {'name': 'odd', 'pattern': 'a.b'}).json()['id']}"

    assert warnings_of(admin.put(path, {"priority": 7})) == []
    with committed():
        assert warnings_of(admin.put(path, {"pattern": r"a\S"}))
    assert warnings_of(admin.put(path, {"operator": "contains"})) == []
    assert caplog.text.count(WORDS) == 1


def test_a_draft_is_warned_about_before_it_is_saved(admin):
    answer = admin.post("/waf-rules/test", {"uri": "/", "rule": {"name": "odd", "pattern": "a$b"}})

    assert WORDS in str(answer.json()["warnings"])
    assert not WafRule.objects.exists()
