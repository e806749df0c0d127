"""Share links in the Django admin: created, shown once with a copy button, counted, and revoked."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.storage import ingest
from policies.models import ShareLink
from tests.support.cast import OFFICE
from tests.support.share_links import a_guest_of
from tests.support.visitor import Visitor

pytestmark = pytest.mark.django_db
ADD = "/policies/sharelink/add/"


def values(office, **others):
    ends = timezone.now() + timedelta(hours=4)
    moment = {"expires_at_0": f"{ends:%Y-%m-%d}", "expires_at_1": f"{ends:%H:%M:%S}"}
    return {"name": "Anna", "domain": office.pk, "path_prefix": "/wedding", **moment, **others}


def test_a_link_is_made_shown_once_used_and_revoked(pages, auth, office, settings):
    made = pages.submit(ADD, **values(office)).content.decode()

    link = ShareLink.objects.get()
    (token,) = set(re.findall(r"gws_[0-9A-Za-z]{49}", made))
    assert f'<pre tabindex="0">https://{OFFICE}/wall/share?token={token}</pre><button type="button" data-copy' in made
    assert (link.methods, link.max_uses, link.created_by) == (["GET", "HEAD"], 1, "alice")

    assert Visitor(OFFICE, **{"User-Agent": "Firefox/1 (Linux)"}).send("/share", token=token).status_code == 303
    ask = a_guest_of(auth, link)
    assert ask("/wedding") == (200, "share-link-valid")
    ingest.ship(settings.GATEWALL_HOME / "spool")
    page = pages.words(pages.get(f"/policies/sharelink/{link.pk}/change/"))
    assert "1 / 1" in page
    assert "Firefox, Linux" in page
    assert f'subject=guest%3A{link.pk}">1</a>' in page
    assert token not in page
    assert link.digest not in page
    assert "1 / 1" in pages.words(pages.get("/policies/sharelink/"))

    assert pages.submit(f"/policies/sharelink/{link.pk}/change/", path_prefix="").status_code == 302
    assert ask("/") == (200, "share-link-valid")
    assert pages.delete(f"/policies/sharelink/{link.pk}/delete/").status_code == 302
    assert ask("/wedding") == (401, "credential-invalid")


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"path_prefix": "wedding"}, {"max_uses": 0}, {"expires_at_0": "2020-01-01"}]
)
def test_an_invalid_link_is_refused(pages, office, wrong):
    assert pages.submit(ADD, **values(office, **wrong)).status_code == 200
    assert not ShareLink.objects.exists()
