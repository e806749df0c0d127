"""Passkeys in the Django admin: admins list, rename and remove them; only their users create them."""

import pytest

from accounts.models import Passkey, RecoveryCode
from audit.models import SecurityEvent

pytestmark = pytest.mark.django_db
PAGES = "/accounts/passkey/"


@pytest.fixture
def passkey(bob):
    RecoveryCode.objects.create(user=bob, digest="of a code")
    return Passkey.objects.create(
        user=bob, name="phone", credential_id="the id", public_key="the key", rp_id="a.example"
    )


def test_an_admin_sees_renames_and_removes_a_passkey(pages, passkey):
    listed, page = pages.get(PAGES), pages.get(f"{PAGES}{passkey.pk}/change/")

    assert "phone" in listed.text
    assert "a.example" in page.text
    assert "the key" not in page.text + listed.text
    assert pages.submit(f"{PAGES}{passkey.pk}/change/", name="old phone").status_code == 302
    assert Passkey.objects.get().name == "old phone"
    assert pages.delete(f"{PAGES}{passkey.pk}/delete/").status_code == 302
    assert not Passkey.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert SecurityEvent.objects.get(kind="passkey.removed").detail["passkey"] == "old phone"


def test_the_page_adds_no_passkey(pages, passkey):
    assert pages.get(f"{PAGES}add/").status_code == 403


def test_a_lost_passkey_is_forgotten_with_the_second_factor(pages, passkey, bob):
    page = pages.get(f"/accounts/user/{bob.pk}/change/")

    assert 'name="forget_second_factor"' in page.text
