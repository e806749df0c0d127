"""The confirmation page for deleting a user lists the rows that are deleted too."""

import html
import uuid

import pytest
from django.utils import timezone

from accounts.models import WrongCodes
from accounts.provider_models import ExternalIdentity, IdentityProvider
from accounts.services import change_user
from policies import services
from policies.access_rules.services import create_access_rule
from policies.models.access_requests import RequestForAccess
from tests.admin.conftest import ADMIN, Fields
from tests.support.cast import OFFICE
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db


def test_the_deletion_page_uses_plurals_of_models(pages, bob):
    now = timezone.now()
    provider = IdentityProvider.objects.create(slug="corp", name="Corp", issuer="https://corp.example", client_id="x")
    ExternalIdentity.objects.create(provider=provider, user=bob, issuer=provider.issuer, subject="1", linked_at=now)
    WrongCodes.objects.create(user=bob, number=3)
    office = services.register_domain(actor="x", name=OFFICE, access="public")
    RequestForAccess.objects.create(user=bob, domain=office, decision_id=uuid.uuid4(), host=OFFICE, asked_at=now)

    page = html.unescape(pages.get(f"/accounts/user/{bob.pk}/delete/").content.decode())

    for words in ("External identities: 1", "Wrong codes: 1", "Requests for access: 1"):
        assert words in page


def test_the_deletion_page_counts_unnamed_rows_and_omits_relations(pages, bob):
    office = services.register_domain(actor="x", name=OFFICE, access="public")
    change_user(bob, actor="x", authorized_domains=[office])
    rule = create_access_rule(actor="x", name="staff", access="denied", users=[bob], domains=[office])
    a_token(bob)

    user = html.unescape(pages.get(f"/accounts/user/{bob.pk}/delete/").content.decode())
    of_rule = html.unescape(pages.get(f"/policies/accessrule/{rule.pk}/delete/").content.decode())
    token = Fields(pages.get("/accounts/user/").content.decode()).values["csrfmiddlewaretoken"][0]
    chosen = {"csrfmiddlewaretoken": token, "action": "delete_selected", "_selected_action": [bob.pk]}
    several = html.unescape(pages.client.post(f"{ADMIN}/accounts/user/", chosen).content.decode())

    assert "Sessions: 1" in user
    assert "Sessions: 1" in several
    for page in (user, of_rule, several):
        assert " object (" not in page
        assert "relationship" not in page
