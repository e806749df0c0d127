"""Authenticator apps in the Django admin: admins list, rename and remove them; only their users set them up."""

import pytest
from django.utils import timezone

from accounts.models import RecoveryCode, TotpDevice
from accounts.sign_in import totp
from audit.models import SecurityEvent
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
PAGES = "/accounts/totpdevice/"


def test_an_admin_sees_renames_and_removes_an_app(pages, bob):
    an_app(bob)
    row = TotpDevice.objects.get()
    listed, page = pages.get(PAGES), pages.get(f"{PAGES}{row.pk}/change/")

    assert "Authenticator app" in listed.text
    assert "Bob" in page.text
    assert row.sealed_secret not in page.text + listed.text
    assert pages.submit(f"{PAGES}{row.pk}/change/", name="phone").status_code == 302
    assert TotpDevice.objects.get().name == "phone"
    assert pages.delete(f"{PAGES}{row.pk}/delete/").status_code == 302
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert SecurityEvent.objects.get(kind="two-factor.disabled").detail["device"] == "phone"


def test_the_page_adds_no_app_and_hides_pending_ones(pages, bob):
    totp.begin_setup(bob, at=timezone.now())

    assert pages.get(f"{PAGES}add/").status_code == 403
    assert pages.get(f"{PAGES}{TotpDevice.objects.get().pk}/change/").status_code == 302
