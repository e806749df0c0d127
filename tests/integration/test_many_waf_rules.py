"""The maximum number of WAF rules fits in a segment; publishing and loading scale linearly with their number."""

import time

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError

from gatewall.engine.snapshot import Segment
from gatewall.policy import revisions
from gatewall.publication.publisher import publish
from gatewall.snapshot import codec
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.published import PublishedPolicies
from policies import services
from policies.models import WafRule
from policies.policy_source import engine_rule
from tests.support.cast import a_request

BIGGEST = {
    "name": "n" * 100,
    "pattern": "\x01" * 4096,  # six characters of JSON a byte
    "operator": "contains",
    "targets": ["uri", "path", "query", "args", "arg-names", "headers", "user-agent", "cookies", "referer", "body"],
    "transforms": ["compress-whitespace"] * 10,
    "path_prefix": "/" + "\U0001f600" * 499,
    "exclusions": [{"argument": "é" * 40}] * 50,
}


def cpu(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def test_the_maximum_number_of_the_largest_rules_fits_in_a_segment():
    larger = {**BIGGEST, "exclusions": [{"argument": "é" * 41}] * 50}
    row, too_large = WafRule(pk=1, **BIGGEST), WafRule(**larger)
    row.full_clean(exclude=["domain"], validate_unique=False, validate_constraints=False)
    with pytest.raises(ValidationError):
        too_large.full_clean(exclude=["domain"], validate_unique=False, validate_constraints=False)

    biggest = len(codec.encode(Segment.WAF_RULES, [engine_rule(row)]))

    assert biggest * services.MAX_CUSTOM_RULES < codec.MAX_SEGMENT_BYTES


@pytest.mark.django_db(transaction=True)
def test_the_last_rule_under_the_limit_is_published_and_matches(monkeypatch):
    monkeypatch.setattr(services, "MAX_CUSTOM_RULES", 301)
    files = policy_files(settings.CONFIG)
    WafRule.objects.bulk_create(WafRule(name=f"r{n}", pattern=f"(?i)attack{n}x+") for n in range(300))

    services.create_waf_rule(actor="alice", name="last", pattern="the-last")
    with pytest.raises(services.TooManyWafRules):
        services.create_waf_rule(actor="alice", name="one more", pattern="one-more")

    manifest = publish(files)
    policies = PublishedPolicies(files)
    policies.refresh()
    policy = policies.current()
    assert policy.version.revision == manifest.version.revision == revisions.current().revision
    assert [rule.name for rule in policy.waf.inspect(a_request(uri="/the-last/ATTACK299X"), None)] == ["r299", "last"]


@pytest.mark.django_db(transaction=True)
def test_four_times_the_rules_are_not_much_more_than_four_times_the_work():
    files = policy_files(settings.CONFIG)

    def published(count):
        WafRule.objects.all().delete()
        rows = [WafRule(name=f"r{n}", pattern=f"(?i)word{count}-{n}[a-z]+x") for n in range(count)]
        WafRule.objects.bulk_create(rows)
        services.create_waf_rule(actor="alice", name=f"now {count}", pattern="now")
        publish(files)
        PublishedPolicies(files).refresh()

    few = min(cpu(lambda: published(250)) for _ in range(2))
    many = min(cpu(lambda: published(1000)) for _ in range(2))

    assert many < 12 * few
