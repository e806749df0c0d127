"""The list of WAF rules: the hits and the last hit of each, sortable by both."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import UseCount
from policies import services
from policies.models import WafRule

LIST = "/policies/wafrule/"


@pytest.fixture
def rules(db):
    """Create three rules: with many old hits, with one recent hit, and without hits."""
    now = timezone.now()
    made = [services.create_waf_rule(actor="", name=name, pattern="x1y2") for name in ("often", "once", "never")]
    for rule, count, ago in zip(made, (7, 1), (timedelta(days=9), timedelta(0)), strict=False):
        UseCount.objects.create(kind="waf-rules", row_id=rule.pk, count=count, last_at=now - ago)
    UseCount.objects.create(kind="access-rules", row_id=made[2].pk, count=99, last_at=now)
    return made


def shown(pages, query=""):
    page = pages.get(f"{LIST}?{query}").content.decode()
    names = re.findall(r'<th class="field-name"><a [^>]+>([^<]+)</a>', page)
    return list(zip(names, re.findall(r'<td class="field-hits">(?:<a [^>]+>)?([^<]+)<', page), strict=True))


def column(pages, name):
    """Return the number by which the list is ordered by a column."""
    page = pages.get(LIST).content.decode()
    head = re.search(rf'class="[^"]*column-{name}[^"]*">(.*?)</th>', page, re.DOTALL)
    return re.search(r"\?o=(\d+)", head[1])[1]


def test_rules_are_sorted_by_hits_and_by_the_last_one(pages, rules):
    hits, last = column(pages, "hits"), column(pages, "last_hit")

    assert shown(pages, f"o=-{hits}") == [("often", "7"), ("once", "1"), ("never", "0")]
    assert shown(pages, f"o={hits}") == [("never", "0"), ("once", "1"), ("often", "7")]
    assert [name for name, _ in shown(pages, f"o=-{last}")] == ["once", "often", "never"]
    assert [name for name, _ in shown(pages, f"o={last}")] == ["never", "often", "once"]


def test_a_long_list_takes_no_more_queries_than_a_short_one(pages, rules):
    order = f"o=-{column(pages, 'hits')}"

    def queries():
        with CaptureQueriesContext(connection) as captured:
            found = shown(pages, order)
        return len(captured), found

    few, _ = queries()
    made = WafRule.objects.bulk_create([WafRule(name=f"rule {number}", pattern="x") for number in range(300)])
    UseCount.objects.bulk_create(
        UseCount(kind="waf-rules", row_id=rule.pk, count=number, last_at=timezone.now())
        for number, rule in enumerate(made, 100)
    )
    many, found = queries()

    assert many == few
    assert found[0] == ("rule 299", "399")
    assert len(found) == 100
