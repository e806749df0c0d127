"""The page that asks before a user is deleted names what goes with them."""

import html
import uuid

import pytest
from django.utils import timezone

from accounts.models import WrongCodes
from accounts.provider_models import ExternalIdentity, IdentityProvider
from policies import services
from policies.models.access_requests import RequestForAccess
from tests.support.cast import OFFICE

pytestmark = pytest.mark.django_db


def test_kinds_of_rows_have_their_plural(pages, bob):
    now = timezone.now()
    provider = IdentityProvider.objects.create(slug="corp", name="Corp", issuer="https://corp.example", client_id="x")
    ExternalIdentity.objects.create(provider=provider, user=bob, issuer=provider.issuer, subject="1", linked_at=now)
    WrongCodes.objects.create(user=bob, number=3)
    office = services.register_domain(actor="x", name=OFFICE, access="public")
    RequestForAccess.objects.create(user=bob, domain=office, decision_id=uuid.uuid4(), host=OFFICE, asked_at=now)

    page = html.unescape(pages.get(f"/accounts/user/{bob.pk}/delete/").content.decode())

    for words in ("External identities: 1", "Wrong codes: 1", "Requests for access: 1"):
        assert words in page
