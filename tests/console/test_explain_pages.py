"""The Explain pages: every step in words, and exemptions as narrow as possible."""

import html
import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from gatewall.engine.steps import STEPS
from gatewall.policy import revisions
from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, WafRule
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_token
from tests.support.records import a_record

pytestmark = pytest.mark.django_db


def text_of(response):
    """Return the visible text of a page."""
    words = re.sub(r"<[^>]+>", " ", response.content.decode())
    return html.unescape(re.sub(r"\s+", " ", words))


def receipt(pages, decision_id, query=""):
    response = pages.get(f"/explain/{decision_id}/{query}")
    assert response.status_code == 200
    return text_of(response)


def offered(pages, decision_id):
    """Return the keys of the offers."""
    page = pages.get(f"/explain/{decision_id}/").content.decode()
    return re.findall(r'name="offer" value="([^"]+)"', page)


def write(pages, decision_id, offer, lifetime="hour"):
    """Send the form of the one offer with this key, whose last part is ignored."""
    (key,) = (key for key in offered(pages, decision_id) if key.rpartition("-")[0] == offer)
    return pages.submit(f"/explain/{decision_id}/", offer=key, lifetime=lifetime)


def after(pages, response):
    assert response.status_code == 302, text_of(response)
    assert response.url.endswith("?again=1")
    return text_of(pages.client.get(response.url))


def a_rule(**values):
    usual = {"name": "attack", "pattern": "attack", "targets": ["args"]}
    return services.create_waf_rule(actor="", **(usual | values))


def test_a_pasted_id_leads_to_the_receipt(pages, visits):
    decision_id = visits()
    response = pages.get(f"/explain/?decision_id=%20{decision_id}%20")

    assert (response.status_code, response.url) == (302, f"/wall/admin/explain/{decision_id}/")


@pytest.mark.parametrize(
    ("text", "status"), [("nonsense", 400), ("<script>", 400), ("019cebab-8748-7000-8000-000000000000", 404)]
)
def test_an_invalid_decision_id_is_refused(pages, text, status):
    response = pages.get(f"/explain/?decision_id={text}")

    assert response.status_code == status
    assert 'role="alert"' in response.content.decode()
    assert "<script>x" not in response.content.decode()


@pytest.mark.parametrize("query", ["?again=2", "?x=1", "?again=1&x=1"])
def test_an_unknown_parameter_is_refused(pages, visits, query):
    assert pages.get(f"/explain/{visits()}/{query}").status_code == 400


def test_the_page_describes_every_step(pages, visits):
    entry = services.block_network(actor="", network="203.0.113.0/24")
    decision_id = visits(x_forwarded_for="203.0.113.9")
    page = pages.get(f"/explain/{decision_id}/").content.decode()

    assert page.count('<span class="step">') == len(STEPS)
    assert f'href="/wall/admin/policies/blocklistentry/{entry.pk}/change/"' in page
    words = receipt(pages, decision_id)
    assert "403 refused : The address is on the blocklist." in words
    assert words.count("matched: refused — this step decided") == 1
    assert words.count("not reached") == len(STEPS) - 2


def test_deciding_again_shows_the_changed_answer(pages, visits):
    entry = services.block_network(actor="", network="203.0.113.0/24")
    decision_id = visits(x_forwarded_for="203.0.113.9")
    assert "The answer is the same as the recorded one." in receipt(pages, decision_id, "?again=1")

    services.unblock_network(entry, actor="x")

    words = receipt(pages, decision_id, "?again=1")
    assert "The answer has changed. Recorded: refused. Today: asked to sign in." in words


def test_deciding_again_names_the_missing_part(pages, visits):
    services.create_waf_rule(actor="", name="cookies", pattern="x", targets=["cookies"])
    decision_id = visits()
    services.change_waf_rule(WafRule.objects.get(name="cookies"), actor="", pattern="yy")

    words = receipt(pages, decision_id, "?again=1")

    assert "This cannot be determined: the parts that WAF rules inspect are not recorded." in words


def test_where_a_rule_matched_is_shown_and_leads_to_the_rule(pages, visits):
    rule = a_rule()
    decision_id = visits(x_forwarded_uri="/editor/page?text=an+attack&other=1")
    page = pages.get(f"/explain/{decision_id}/").content.decode()

    assert f'href="/wall/admin/policies/wafrule/{rule.pk}/change/"' in page
    assert "args text , as sent: attack" in receipt(pages, decision_id)


def test_an_exclusion_covers_this_domain_path_and_argument_for_a_time(pages, visits, auth, office, charlie):
    rule = a_rule(exclusions=[{"path_prefix": "/old", "expires_at": "2020-01-01T00:00:00Z"}, {"argument": "b"}])
    uri = "/editor/a%20page?text=an+attack&other=1"
    decision_id = visits(x_forwarded_uri=uri)
    words = receipt(pages, decision_id)
    assert "domain office.example , path /editor/a page and what is below it, argument text" in words

    now_words = after(pages, write(pages, decision_id, f"exclusion-{rule.pk}", "day"))

    rule.refresh_from_db()
    kept, added = rule.exclusions
    until = datetime.fromisoformat(added.pop("expires_at"))
    assert kept == {"argument": "b"}
    assert added == {"domain": OFFICE, "path_prefix": "/editor/a page", "argument": "text"}
    assert timedelta(hours=23, minutes=59) < until - timezone.now() <= timedelta(days=1)
    assert "The answer has changed. Recorded: refused. Today: asked to sign in." in now_words
    token = a_token(charlie)
    assert auth(x_forwarded_uri=uri, service_authorization=token).status == 200
    for other in ("/editor/a%20page?other=attack", "/editor?text=attack", "/?text=attack"):
        assert auth(x_forwarded_uri=other, service_authorization=token).reason == "waf-rule"
    assert auth(x_forwarded_uri=uri, x_forwarded_host="other.example").reason == "waf-rule"


def test_a_match_outside_arguments_is_excluded_by_path(pages, visits, office):
    rule = a_rule(targets=["path"])
    decision_id = visits(x_forwarded_uri="/wiki/attack/../attack")

    assert after(pages, write(pages, decision_id, f"exclusion-{rule.pk}"))

    (added,) = WafRule.objects.get(pk=rule.pk).exclusions
    assert set(added) == {"domain", "path_prefix", "expires_at"}


def test_an_exclusion_for_every_path_is_limited_to_the_host_of_the_request(pages, visits):
    a_rule(targets=["path"], pattern="^/$")

    assert f"domain {OFFICE} , every path" in receipt(pages, visits(x_forwarded_uri="/"))


def test_a_rule_that_also_inspects_headers_is_excluded_once(pages, visits, office):
    rule = a_rule(targets=["args", "headers"])
    decision_id = visits(x_forwarded_uri="/a?q=attack")

    words = after(pages, write(pages, decision_id, f"exclusion-{rule.pk}"))

    assert "This cannot be determined" in words
    assert "matches no rule that can have an exclusion" in words


def test_several_rules_have_an_offer_each(pages, visits, office):
    first, second = a_rule(), a_rule(name="again", pattern="att.ck")
    decision_id = visits(x_forwarded_uri="/a?q=attack")
    page = pages.get(f"/explain/{decision_id}/").content.decode()
    assert f"exclusion-{first.pk}" in page
    assert f"exclusion-{second.pk}" in page

    words = after(pages, write(pages, decision_id, f"exclusion-{first.pk}"))

    assert "The answer is the same as the recorded one." in words
    assert not WafRule.objects.get(pk=second.pk).exclusions


def test_several_rules_are_excluded_at_once(pages, visits, auth, office, charlie):
    rules = [a_rule(), a_rule(name="again", pattern="att.ck")]
    decision_id = visits(x_forwarded_uri="/a?q=attack")
    words = receipt(pages, decision_id)
    assert "These are all rules that refused this request." in words

    words = after(pages, write(pages, decision_id, "exclusions"))

    assert "The answer has changed. Recorded: refused. Today: asked to sign in." in words
    assert [len(WafRule.objects.get(pk=rule.pk).exclusions) for rule in rules] == [1, 1]
    token = a_token(charlie)
    assert auth(x_forwarded_uri="/a?q=attack", service_authorization=token).status == 200
    assert auth(x_forwarded_uri="/b?q=attack", service_authorization=token).reason == "waf-rule"


def test_a_blocked_client_gets_an_inspected_allowlist_entry_for_this_domain(pages, visits, auth, office):
    services.block_network(actor="", network="198.51.100.0/24")
    a_rule()
    decision_id = visits()
    assert f"An allowlist entry for {CLIENT} , at office.example" in receipt(pages, decision_id)

    after(pages, write(pages, decision_id, "allow", "month"))

    entry = AllowlistEntry.objects.get()
    assert (entry.network, entry.domain, entry.inspect, entry.created_by) == (CLIENT, office, True, "alice")
    assert timedelta(days=29) < entry.expires_at - timezone.now() <= timedelta(days=30)
    assert decision_id in entry.remark
    assert auth().reason == "client-allowed"
    assert auth(x_forwarded_uri="/?q=attack").reason == "waf-rule"
    assert auth(x_forwarded_for="198.51.100.8").reason == "client-blocked"


def test_the_offer_for_a_blocked_address_deletes_its_entry(pages, visits, auth, office):
    services.block_network(actor="", network=CLIENT)
    decision_id = visits()
    assert "An allowlist entry cannot override it" in receipt(pages, decision_id)

    after(pages, write(pages, decision_id, f"unblock-{BlocklistEntry.objects.get().pk}"))

    assert not BlocklistEntry.objects.exists()
    assert auth().reason == "credential-missing"


def test_an_allowlist_entry_overrides_an_automatic_ban_of_the_same_address(pages, visits, auth, office):
    services.block_network(actor="", network=CLIENT, source="auto-ban")
    decision_id = visits()

    after(pages, write(pages, decision_id, "allow"))

    assert auth().reason == "client-allowed"


def test_an_unregistered_host_can_be_registered(pages, visits, auth):
    services.register_domain(actor="x", name="office.example", access="authenticated")
    decision_id = visits(x_forwarded_host="new.example")
    assert "The host is registered, and requires a sign-in: new.example" in receipt(pages, decision_id)

    after(pages, write(pages, decision_id, "register"))

    assert AuthorizedDomain.objects.get(name="new.example").access == "authenticated"
    assert auth(x_forwarded_host="new.example").reason == "credential-missing"


def test_a_user_out_of_scope_is_linked_to_their_scope(pages, visits, charlie):
    services.register_domain(actor="", name="vault.example", access="authenticated", seed=True)
    decision_id = visits(x_forwarded_host="vault.example", service_authorization=a_token(charlie))
    page = pages.get(f"/explain/{decision_id}/").content.decode()

    assert "Add the domain to the scope" in page
    assert page.count(f"/accounts/user/{charlie.pk}/change/") == 2


def test_a_request_that_passes_today_needs_no_exemption(pages, visits, office):
    services.change_domain(office, actor="x", access="public")

    assert "today's policy lets it through" in receipt(pages, visits())


@pytest.mark.parametrize("sent", [{"offer": "allow"}, {"offer": ""}, {"offer": "exclusion-1"}])
def test_only_offered_exemptions_are_written(pages, visits, sent):
    number = revisions.current().revision
    response = pages.submit(f"/explain/{visits()}/", **sent)

    assert response.status_code == 409
    assert revisions.current().revision == number


def test_an_invalid_lifetime_is_refused(pages, visits, office):
    services.block_network(actor="", network="198.51.100.0/24")

    assert write(pages, visits(), "allow", "year").status_code == 400
    assert not AllowlistEntry.objects.exists()


def test_untrusted_text_is_escaped(pages, visits):
    decision_id = visits(x_forwarded_uri="/<script>alert(1)</script>?javascript:x", user_agent="<b>me</b>")
    page = pages.get(f"/explain/{decision_id}/?again=1").content.decode()

    assert "<script>alert" not in page
    assert "<b>me" not in page
    assert 'href="javascript' not in page


def test_only_admins_see_the_page_and_unknown_ids_are_not_found(pages):
    assert pages.get("/explain/019cebab-8748-7000-8000-000000000000/").status_code == 404
    pages.client.logout()

    assert pages.get("/explain/").status_code == 302


def test_a_receipt_names_the_share_link_that_let_a_guest_in(pages, log):
    guest = {"kind": "guest", "id": 3, "name": ""}
    row = a_record(1, status=200, outcome="allow", reason="share-link-valid", decided_by=None, rules=[], subject=guest)
    log(row)

    assert "Decided by share link 3" in receipt(pages, row.decision_id)
    assert "grant=share-links%3A3" in pages.get("/log/").content.decode()
