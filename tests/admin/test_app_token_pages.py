"""App tokens in the Django admin: created for a user, shown once, refused with an error, and revoked."""

import re

import pytest

from gatewall.engine.model import CredentialKind, Reason
from gatewall.policy import revisions
from licensing.models import AppToken
from tests.support.cast import OFFICE, a_credential

pytestmark = pytest.mark.django_db
ADD = "/licensing/apptoken/add/"


def test_a_token_is_made_shown_once_and_revoked(pages, decide, bob, office):
    before = revisions.current()
    values = {"user": bob.pk, "name": "calendar", "authorized_domains": [office.pk], "path_prefixes": '["/dav"]'}

    response = pages.submit(ADD, **values)

    issued = revisions.current()
    assert issued.supersedes(before)
    (token,) = set(re.findall(r"gwp_[0-9A-Za-z]{49}", response.content.decode()))
    row = AppToken.objects.get()
    assert (row.all_domains, row.path_prefixes) == (False, ["/dav"])
    assert list(row.authorized_domains.all()) == [office]
    sent = {
        "credentials": [a_credential(token, CredentialKind.APP_BEARER)],
        "host": OFFICE,
        "visible": {"uri", "method"},
    }
    assert decide(uri="/dav/a", **sent) is Reason.APP_TOKEN_VALID
    assert decide(uri="/a", **sent) is Reason.HOST_NOT_IN_SCOPE
    page = pages.words(pages.get(f"/licensing/apptoken/{row.pk}/change/"))
    assert row.prefix in page
    assert token not in page
    assert row.digest not in page

    assert pages.delete(f"/licensing/apptoken/{row.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(issued)
    assert decide(uri="/dav/a", **sent) is Reason.CREDENTIAL_INVALID


@pytest.mark.parametrize(
    "wrong",
    [
        {"all_domains": "", "authorized_domains": []},
        {"path_prefixes": '["dav"]'},
        {"path_prefixes": '["/a/../b"]'},
        {"path_prefixes": '"/dav"'},
        {"path_prefixes": "[1]"},
        {"path_prefixes": "no JSON"},
        {"name": ""},
        {"never_expires": "on", "expires_at_0": "2099-01-01", "expires_at_1": "00:00"},
    ],
    ids=["no scope", "no slash", "dot segments", "no list", "no text", "no JSON", "no name", "two ends"],
)
def test_an_invalid_token_is_refused_with_an_error(pages, bob, office, wrong):
    before = revisions.current()
    values = {"user": bob.pk, "name": "calendar", "all_domains": "on", "path_prefixes": "[]"}

    response = pages.submit(ADD, **{**values, **wrong})

    assert response.status_code == 200
    assert "errorlist" in response.content.decode() or "errornote" in response.content.decode()
    assert not AppToken.objects.exists()
    assert revisions.current() == before


@pytest.mark.parametrize("query", ["?digest__regex=a", "?user__password__startswith=a"])
def test_filters_by_token_hash_are_refused(pages, query):
    assert pages.get(f"/licensing/apptoken/{query}").status_code in {302, 400}
