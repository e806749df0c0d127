"""Exemptions from the Explain page: only the shown change is written."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from audit.models import AccessLog
from audit.spool.masking import MASK
from gatewall.policy import system_settings
from policies import services
from policies.models import AllowlistEntry, WafRule
from tests.console.test_explain_pages import a_rule, offered, receipt, write
from tests.support.cast import OFFICE

pytestmark = pytest.mark.django_db


def test_where_a_rule_matches_again_is_shown_once_its_exclusion_has_ended(pages, visits, office):
    until = timezone.now() + timedelta(minutes=5)
    a_rule(exclusions=[{"path_prefix": "/a", "expires_at": until.isoformat()}])
    decision_id = visits(x_forwarded_uri="/a?q=attack")
    with time_machine.travel(until, tick=False):
        words = receipt(pages, decision_id, "?again=1")

    assert "The answer has changed. Recorded: asked to sign in. Today: refused." in words
    assert "args q , as sent: attack" in words


def test_an_offer_that_is_out_of_date_writes_nothing(pages, visits, office):
    """An offer that has changed since it was shown is refused: here its domain was deleted."""
    services.block_network(actor="", network="198.51.100.0/24")
    decision_id = visits()
    (key,) = offered(pages, decision_id)
    services.remove_domain(office, actor="x", force=True)

    assert pages.submit(f"/explain/{decision_id}/", offer=key, lifetime="hour").status_code == 409
    assert not AllowlistEntry.objects.exists()


def test_an_exclusion_that_became_wider_is_not_written(pages, visits, office):
    rule = a_rule()
    decision_id = visits(x_forwarded_uri="/a?q=attack")
    (key,) = offered(pages, decision_id)
    services.change_waf_rule(rule, actor="x", targets=["args", "uri"])

    assert pages.submit(f"/explain/{decision_id}/", offer=key, lifetime="hour").status_code == 409
    assert not WafRule.objects.get(pk=rule.pk).exclusions
    assert len(offered(pages, decision_id)) == 1


def test_no_entry_for_every_host_is_offered_if_the_host_is_refused_anyway(pages, visits):
    services.block_network(actor="", network="198.51.100.0/24")
    decision_id = visits()
    assert "at every host, because this one is not registered" in receipt(pages, decision_id)

    services.register_domain(actor="x", name="other.example", access="authenticated")
    system_settings.change(actor="x", authorized_domains_mode="registered")

    assert not offered(pages, decision_id)


def test_under_a_wildcard_an_exclusion_is_for_the_host_of_the_request(pages, visits):
    services.register_domain(actor="", name="*.site.example", access="authenticated", seed=True)
    rule = a_rule()
    decision_id = visits(x_forwarded_host="a.site.example", x_forwarded_uri="/a?q=attack")

    write(pages, decision_id, f"exclusion-{rule.pk}")

    assert added_to(rule) == {"domain": "a.site.example", "path_prefix": "/a", "argument": "q"}


def test_at_a_host_that_is_not_registered_an_exclusion_is_for_that_host(pages, visits, office):
    rule = a_rule()
    decision_id = visits(x_forwarded_host="other.example", x_forwarded_uri="/a?q=attack")

    write(pages, decision_id, f"exclusion-{rule.pk}")

    assert added_to(rule) == {"domain": "other.example", "path_prefix": "/a", "argument": "q"}


def test_an_argument_beyond_ascii_is_shown_decoded(pages, visits, auth, office):
    rule = a_rule()
    uri = "/a?gr%C3%B6%C3%9Fe=attack"
    decision_id = visits(x_forwarded_uri=uri)

    write(pages, decision_id, f"exclusion-{rule.pk}")

    assert added_to(rule)["argument"] == "größe"
    assert auth(x_forwarded_uri=uri).reason != "waf-rule"
    assert auth(x_forwarded_uri=uri.replace("%C3%9F", "s")).reason == "waf-rule"


def test_where_the_user_agent_matched_the_exclusion_is_for_that_header(pages, visits, office):
    rule = a_rule(targets=["user-agent"])
    decision_id = visits(x_forwarded_uri="/a", user_agent="attack")
    assert "header user-agent" in receipt(pages, decision_id)

    write(pages, decision_id, f"exclusion-{rule.pk}")

    assert added_to(rule) == {"domain": OFFICE, "path_prefix": "/a", "header": "user-agent"}


@pytest.mark.parametrize("is_registered", [True, False])
def test_no_entry_for_every_host_is_offered_for_a_masked_host(pages, visits, is_registered):
    """The log masks labels that look like tokens: the domain is still found by its wildcard, an unknown host is not."""
    if is_registered:
        services.register_domain(actor="", name="*.site.example", access="authenticated", seed=True)
    services.block_network(actor="", network="198.51.100.0/24")
    decision_id = visits(x_forwarded_host=f"gwa_{'a' * 20}.site.example")
    assert MASK in AccessLog.objects.latest("at").host

    assert len(offered(pages, decision_id)) == is_registered
    if is_registered:
        write(pages, decision_id, "allow")
        assert AllowlistEntry.objects.get().domain.name == "*.site.example"


def added_to(rule):
    """Return the one exclusion of a rule, without its expiry."""
    (exclusion,) = WafRule.objects.get(pk=rule.pk).exclusions
    return {name: value for name, value in exclusion.items() if name != "expires_at"}


def test_one_offer_for_all_rules_requires_that_all_were_recorded(pages, visits, office):
    for number in range(11):
        a_rule(name=f"attack {number}")
    decision_id = visits(x_forwarded_uri="/a?q=attack")

    assert "These are all rules" not in receipt(pages, decision_id)
    assert len(offered(pages, decision_id)) == 10
