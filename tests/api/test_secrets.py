"""No answer to a GET and no error contains a secret."""

import pytest

from accounts.models import ApiToken, User
from licensing.models import GitToken, License
from tests.api.routes import ROUTES, path_of
from tests.support.proxies import PASSWORD, a_git_token, a_license, a_token, an_api_token

pytestmark = pytest.mark.django_db
READABLE = sorted({name for name, verb in ROUTES if verb == "GET"})


@pytest.fixture
def secrets(alice, settings):
    """Create one row of each kind; return all secrets."""
    texts = [a_git_token(alice), a_license(), a_token(alice), PASSWORD, settings.SECRET_KEY]
    texts += [User.objects.get().password, GitToken.objects.get().digest, License.objects.get().digest]
    texts += [an_api_token(alice), ApiToken.objects.get().digest]
    texts += [texts[5].rpartition("$")[2], settings.GATEWALL_JWT_KEYS.signing.secret.hex()]
    return texts


def test_no_readable_answer_contains_a_secret(admin, alice, secrets):
    for name in READABLE:
        text = admin.get(path_of(name, alice.pk)).text

        assert not [secret for secret in secrets if secret in text], name
        named = () if name == "schema" else ('"password"', '"digest"', '"session_version"', '"secret"')
        assert not [word for word in named if word in text], name


def test_no_secret_is_in_a_row(admin, secrets):
    text = admin.get(f"/licenses/{License.objects.get().pk}").text

    assert not [secret for secret in secrets if secret in text]


def test_a_refused_sign_in_does_not_repeat_the_password(anonymous, alice):
    response = anonymous.post("/login", {"username": "alice", "password": "my other password"})

    assert "my other password" not in response.text


def test_a_refused_password_is_not_repeated(admin):
    response = admin.post("/users", {"username": "dora", "password": "p4ss"})

    assert "p4ss" not in response.text


def test_a_refused_token_is_not_repeated(wall):
    assert "canary" not in wall.Api("canary.canary.canary").get("/users").text


def test_an_internal_error_reveals_no_details(alice, monkeypatch):
    from django.test import Client  # noqa: PLC0415

    from policies.models import BlocklistEntry  # noqa: PLC0415
    from tests.support.proxies import assert_well_formed  # noqa: PLC0415

    def broken():
        raise RuntimeError("canary")

    monkeypatch.setattr(BlocklistEntry.objects, "get_queryset", broken)
    client = Client(raise_request_exception=False, headers={"Service-Authorization": a_token(alice)})

    response = client.get("/wall/ip-black-list")

    assert (response.status_code, response.json()["code"]) == (500, "internal-error")
    assert "canary" not in response.content.decode()
    response.text = response.content.decode()
    assert_well_formed(response)
