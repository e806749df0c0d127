"""Every metric name, label and value that ``deploy/grafana`` queries is exported by ``/metrics``."""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from audit.figures import counters
from gatewall.health import metrics
from gatewall.models import Node
from policies import geo
from policies.lists import subscriptions
from tests.support.mmdb import write_mmdb

pytestmark = pytest.mark.django_db
FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "grafana"
DASHBOARD = json.loads((FOLDER / "gatewall.json").read_text())
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in RULES},
    **{
        f"panel {panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    },
}
OURS_ALONE = {"job"}
"""The label that Prometheus adds to every sample."""
WORDS = {
    *("sum", "min", "max", "rate", "increase", "histogram_quantile", "absent", "scalar", "up"),
    *("by", "on", "group_left", "and", "or"),
}
SELECTOR = re.compile(r"\b(gatewall_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'\s*(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*')
BY = re.compile(r"\b(?:by|on|group_left)\s*\(([^)]*)\)")


@pytest.fixture
def samples(settings, tmp_path):
    """Return every possible sample: by name, the labels with the values seen."""
    workers = [{"pid": 1, "revision": 1, "rejected": ""}]
    Node.objects.create(name="gate-1", seen_at=timezone.now(), revision=1, workers=workers, log_lag_seconds=0.1)
    counters.note(counters.LOG_BYTES, 1, timezone.now())
    subscriptions.subscribe(actor="a", name="drop", url="https://lists.example/a")
    path = geo.geo_file.installed(settings.GATEWALL_HOME)
    path.parent.mkdir()
    write_mmdb(path, {"203.0.113.0/24": {"country": {"iso_code": "NZ"}}})
    found = {"up": {"job": {"gatewall"}}}
    for family in text_string_to_metric_families(metrics.exposition(timezone.now()).decode()):
        for sample in family.samples:
            labels = found.setdefault(sample.name, defaultdict(set))
            for label, value in sample.labels.items():
                labels[label].add(value)
    return found


def selectors(expression):
    for name, matchers in SELECTOR.findall(expression):
        parts = [part for part in matchers.split(",") if part.strip()]
        matched = [MATCHER.fullmatch(part) for part in parts]
        assert all(matched), matchers
        yield name, [match.groups() for match in matched]


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_every_queried_metric_label_and_value_is_exported(samples, expression):
    asked = list(selectors(expression))
    assert asked
    labels = set()
    for name, matchers in asked:
        assert name in samples
        labels |= set(samples[name])
        for label, operator, value in matchers:
            assert label in OURS_ALONE or label in samples[name], (name, label)
            if operator == "=" and label not in OURS_ALONE:
                assert value in samples[name][label], (name, value)
    named = {label.strip() for inside in BY.findall(expression) for label in inside.split(",") if label.strip()}
    assert named <= labels


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_is_well_formed(expression):
    depth = 0
    for character in re.sub(r'"[^"]*"', '""', expression):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    bare = BY.sub("", SELECTOR.sub("", expression))
    bare = re.sub(r"\[(?:\d+[smhd]|\$__rate_interval)\]|\b[\d.]+(?:e\d+)?\b", "", bare)
    assert set(re.findall(r"[A-Za-z_]\w*", bare)) <= WORDS
    for counter in re.findall(r"(gatewall_\w+_(?:total|bucket))", expression):
        assert re.search(rf"(?:rate|increase)\({counter}(?:{{[^}}]*}})?\[", expression), (
            "a counter is compared over time"
        )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_has_a_severity_and_a_summary_with_known_labels(rule, samples):
    assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
    shown = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
    assert shown <= {label for name, _ in selectors(rule["expr"]) for label in samples[name]}


def test_alerts_and_panels_have_names_of_their_own():
    names = [rule["alert"] for rule in RULES]
    titles = [panel["title"] for panel in DASHBOARD["panels"]]

    assert len(names) == len(set(names)) > 10
    assert len(titles) == len(set(titles)) > 10


def test_panels_do_not_lie_on_each_other():
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_every_legend_names_labels_that_its_expression_keeps(samples):
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            kept = BY.findall(target["expr"])
            labels = set(kept[0].replace(",", " ").split()) if kept else set()
            if not kept:
                labels = {label for name, _ in selectors(target["expr"]) for label in samples[name]}
            assert shown <= labels, panel["title"]


def test_every_metric_is_on_the_dashboard_or_watched_by_an_alert(samples):
    asked = {name for expression in EXPRESSIONS.values() for name, _ in selectors(expression)}
    ours = {re.sub(r"_(bucket|count|sum)$", "_bucket", name) for name in samples}

    assert ours - asked <= {"gatewall_node_policy_revision"}
