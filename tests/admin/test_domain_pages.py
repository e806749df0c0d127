"""Domains through the real admin pages."""

import re

from gatewall.engine.model import Reason
from gatewall.policy import revisions, system_settings
from policies.access_choices import WHO_ENTERS
from policies.models import AuthorizedDomain
from tests.support.cast import OFFICE


def test_a_domain_is_registered_changed_and_removed(pages, decide):
    before = revisions.current()

    form = pages.get("/policies/authorizeddomain/add/").content.decode()
    assert re.findall(r'type="radio" name="access" value="([a-z_]+)"', form) == [each.value for each in WHO_ENTERS]
    assert "users who signed in with a second factor" in form
    assert pages.submit("/policies/authorizeddomain/add/", name="Bücher.Example.", access="public").status_code == 302
    registered = revisions.current()
    assert registered.supersedes(before)
    domain = AuthorizedDomain.objects.get()
    assert domain.name == "xn--bcher-kva.example"
    assert system_settings.current().authorized_domains_mode == "registered"
    assert decide(host="xn--bcher-kva.example") is Reason.HOST_PUBLIC
    assert decide(host="other.example") is Reason.HOST_NOT_AUTHORIZED

    assert pages.submit(f"/policies/authorizeddomain/{domain.pk}/change/", access="denied").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(registered)
    assert decide(host="xn--bcher-kva.example") is Reason.HOST_NOT_AUTHORIZED

    assert pages.delete(f"/policies/authorizeddomain/{domain.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert not AuthorizedDomain.objects.exists()


def test_names_of_identity_headers_are_chosen_on_the_page_of_a_domain(pages, office):
    page = f"/policies/authorizeddomain/{office.pk}/change/"

    assert pages.submit(page, identity_headers=["X-Webauth-User", "Remote-Groups"]).status_code == 302
    office.refresh_from_db()
    assert office.identity_headers == ["X-Webauth-User", "Remote-Groups"]

    assert pages.submit(page, identity_headers=["Host"]).status_code == 200
    assert pages.submit(page, identity_headers=[]).status_code == 302
    office.refresh_from_db()
    assert office.identity_headers == []


def test_a_domain_of_a_taken_name_is_refused(pages, office):
    before = revisions.current()

    response = pages.submit("/policies/authorizeddomain/add/", name=OFFICE.upper(), access="public")

    assert "already exists" in pages.words(response)
    assert revisions.current() == before
