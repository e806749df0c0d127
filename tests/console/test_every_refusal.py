"""For every kind of refusal the Explain page ends with an offer, or with the reason for none and advice."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.engine.model import Effect, Reason
from policies import services
from policies.models import WafRule
from tests.console.test_explain_pages import a_rule, offered, receipt, text_of
from tests.support.records import a_record

pytestmark = pytest.mark.django_db
REFUSALS = [reason for reason in Reason if reason.effect is not Effect.ALLOW]
ROWS = {
    Reason.ACCESS_DENIED: {"kind": "access-rules", "id": 1},
    Reason.HOST_NOT_AUTHORIZED: {"kind": "authorized-domains", "id": 1},
}
USELESS = "No exemption is needed."


def end_of(page):
    """Return the text of the last section of a receipt."""
    return re.sub(r"\s+", " ", page.rpartition("Let this through")[2]).strip()


@pytest.mark.parametrize("reason", REFUSALS)
def test_every_refusal_ends_in_an_offer_or_in_what_to_do(pages, log, office, reason):
    row = ROWS.get(reason)
    record = a_record(1, status=reason.effect.status, outcome=reason.effect.value, reason=reason.value, decided_by=row)
    log(record)
    page = receipt(pages, record.decision_id)

    assert reason.advice
    if not offered(pages, record.decision_id):
        assert reason.advice in end_of(page)
        assert USELESS not in page


@pytest.mark.parametrize(
    ("uri", "headers", "place", "field"),
    [
        ("/a", {"x-note": "attack"}, "headers x-note", "header"),
        ("/a", {"cookie": "theme=attack"}, "cookies theme", "cookie"),
        ("/a?q=attack", {}, "args q", "argument"),
    ],
)
def test_a_match_in_a_header_cookie_or_argument_is_excluded_by_name(
    pages, auth, visits, office, uri, headers, place, field
):
    rule = a_rule(targets=[place.split()[0]])
    decision_id = visits(x_forwarded_uri=uri, **{name.replace("-", "_"): value for name, value in headers.items()})

    page = receipt(pages, decision_id)
    assert place in page
    (key,) = offered(pages, decision_id)
    assert pages.submit(f"/explain/{decision_id}/", offer=key, lifetime="endless").status_code == 302

    name = place.split()[1]
    expected = {"domain": "office.example", "path_prefix": "/a", field: name}
    assert WafRule.objects.get(pk=rule.pk).exclusions == [expected]
    again = auth(x_forwarded_uri=uri, **{name.replace("-", "_"): value for name, value in headers.items()})
    assert again.verdict != (403, "waf-rule")


def test_a_request_let_in_by_monitor_mode_can_be_exempted(pages, visits, office):
    rule = a_rule()
    services.change_domain(office, actor="x", waf_monitor_until=timezone.now() + timedelta(days=1))
    decision_id = visits(x_forwarded_uri="/a?q=attack")

    assert "would be refused in block mode" in receipt(pages, decision_id)
    (key,) = offered(pages, decision_id)
    assert pages.submit(f"/explain/{decision_id}/", offer=key, lifetime="day").status_code == 302
    (exclusion,) = WafRule.objects.get(pk=rule.pk).exclusions
    assert exclusion["argument"] == "q"


def test_an_endless_allowlist_entry_is_refused(pages, visits, office):
    services.block_network(actor="", network="198.51.100.0/24")
    decision_id = visits()
    (key,) = offered(pages, decision_id)

    refused = pages.submit(f"/explain/{decision_id}/", offer=key, lifetime="endless")

    assert refused.status_code == 409
    assert "no end" not in text_of(refused)
