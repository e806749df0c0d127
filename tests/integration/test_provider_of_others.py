"""Sign-in at a third-party provider, oidc-provider-mock, over HTTP as in a browser."""

import urllib.request
from urllib.parse import urlencode

import pytest
from oidc_provider_mock import User as Person
from oidc_provider_mock import run_server_in_thread

from accounts.identity_providers import services
from accounts.models import ExternalIdentity, User
from accounts.openid.documents import documents
from policies.groups.services import create_group
from tests.support.provider_visits import answer_of, leave
from tests.support.visitor import BACK, Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")]
CLAIMS = {
    "preferred_username": "erin",
    "email": "erin@corp.example",
    "email_verified": True,
    "groups": ["employees", "everybody"],
}


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments):
        return None


def consent(url, person):
    """Choose a person on the provider's page; return the redirect."""
    opener = urllib.request.build_opener(NoRedirects)
    with pytest.raises(urllib.request.HTTPError) as led:
        opener.open(urllib.request.Request(url, urlencode({"sub": person}).encode()), timeout=30)  # noqa: S310
    led.value.close()
    assert led.value.code == 302
    return led.value.headers["Location"]


def test_a_person_is_signed_in_with_their_groups(office):
    documents.forget()
    staff = create_group(actor="alice", name="staff", authorized_domains=[office])
    with run_server_in_thread(user_claims=[Person(sub="erin-7", claims=CLAIMS)]) as server:
        services.create_provider(
            actor="alice",
            slug="corp",
            name="Corp",
            issuer=f"http://localhost:{server.server_port}",
            client_id="gatewall",
            client_secret="any",
            allow_private=True,
            create_users=True,
            mapped_groups={"employees": [staff.pk]},
        )
        visitor = Visitor()
        back = consent(leave(visitor, BACK), "erin-7")
        answer = visitor.get("/oidc/corp/callback", answer_of(back))

    assert (answer.status_code, answer.headers["Location"]) == (303, BACK)
    user = User.objects.get()
    assert (user.username, user.email, list(user.groups.all())) == ("erin", "erin@corp.example", [staff])
    assert ExternalIdentity.objects.get().subject == "erin-7"
