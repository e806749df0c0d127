"""Identity providers in the Django admin: values as over the API, and the claim behind each group of a user."""

import pytest

from accounts.identity_providers import services
from accounts.models import ExternalIdentity, IdentityProvider
from policies.groups.services import create_group

pytestmark = pytest.mark.django_db
LIST = "/accounts/identityprovider/"
FORM = {
    "slug": "corp",
    "name": "Corp",
    "issuer": "https://corp.example",
    "client_id": "gatewall",
    "new_client_secret": "the-secret",
    "scopes": "openid\nprofile",
    "username_claim": "preferred_username",
    "groups_claim": "groups",
    "enabled": "on",
}


def test_a_provider_is_made_changed_and_deleted(pages, office):
    staff = create_group(actor="alice", name="staff")
    pages.submit(f"{LIST}add/", **FORM, group_map="employees = staff", domains=office.name)
    provider = IdentityProvider.objects.get()
    assert (provider.scopes, provider.mapped_groups, provider.domains) == (
        ["openid", "profile"],
        {"employees": [staff.pk]},
        [office.name],
    )
    assert provider.has_client_secret
    page = pages.get(f"{LIST}{provider.pk}/change/").text
    assert "employees = staff" in page
    assert "the-secret" not in page
    sealed = provider.sealed_client_secret
    pages.submit(f"{LIST}{provider.pk}/change/", **{**FORM, "name": "Renamed", "new_client_secret": ""})
    provider.refresh_from_db()
    assert (provider.name, provider.sealed_client_secret) == ("Renamed", sealed)
    pages.delete(f"{LIST}{provider.pk}/delete/")

    assert not IdentityProvider.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("issuer", "http://corp.example", "only https URLs are allowed"),
        ("group_map", "boss = admins", "becomes an administrator"),
        ("group_map", "boss = nobody", "there is no group nobody"),
        ("group_map", "boss", "write each line as"),
        ("domains", "unknown.example", "unknown.example is not a registered domain"),
        ("allowed_email_domains", "not a domain", "domain"),
        ("scopes", "profile", "the scope openid must be among them"),
    ],
)
def test_the_form_shows_the_refusal(pages, field, value, words):
    answer = pages.submit(f"{LIST}add/", **{**FORM, field: value})

    assert answer.status_code == 200
    assert words in answer.text
    assert not IdentityProvider.objects.exists()


def test_a_change_asks_for_the_password_unless_the_sign_in_is_fresh(clock, pages):
    pages.submit(f"{LIST}add/", **FORM)
    page = f"{LIST}{IdentityProvider.objects.get().pk}/change/"
    clock.shift(660)

    pages.submit(page, **{**FORM, "name": "Renamed", "new_client_secret": ""})
    assert IdentityProvider.objects.get().name == "Corp"


def test_the_user_page_shows_the_claim_behind_each_group(pages, bob):
    staff = create_group(actor="alice", name="staff")
    provider = services.create_provider(
        actor="alice", slug="corp", name="Corp", issuer="https://corp.example", client_id="gatewall"
    )
    identity = ExternalIdentity.objects.create(
        provider=provider, user=bob, issuer=provider.issuer, subject="x", linked_at=bob.created_at
    )
    assert "groups by claims" not in pages.get("/accounts/user/add/").text.lower()
    identity.claimed_groups.create(
        group=staff, claim="roles", value="employee", is_added=True, claimed_at=bob.created_at
    )

    assert "staff: roles of corp has employee" in pages.get(f"/accounts/user/{bob.pk}/change/").text
