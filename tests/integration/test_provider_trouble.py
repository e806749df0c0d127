"""A provider that is down, slow, wrong or huge: a sentence, an event, and local sign-in works."""

import threading
from http import HTTPStatus

import pytest

from accounts.identity_providers import services
from accounts.openid import fetching
from tests.support.provider_visits import come_back, leave, sign_in, whys
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
DISCOVERY = "/.well-known/openid-configuration"
SENTENCE = "Corp does not answer as it should. Try again in a minute, or sign in another way."


def say(status=200, document=None, **headers):
    return lambda handler: handler.say(status, document or {}, **headers)


def unavailable(answer, why):
    assert answer.status_code == HTTPStatus.CONFLICT
    assert SENTENCE in words(answer)
    assert whys("provider.failed") == [why]


def huge(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10_000):
        try:
            handler.wfile.write(b" " * 4096)
        except OSError:
            return


def test_idp_down(corp, set_up, bob):
    corp.server.shutdown()
    corp.server.server_close()
    visitor = Visitor()

    unavailable(visitor.get("/oidc/corp"), "unreachable")
    assert "Sign in with Corp" in visitor.get("/").text
    assert visitor.sign_in().status_code == 303
    assert visitor.token
    corp.server.shutdown = corp.server.server_close = lambda: None


def test_a_failure_is_remembered_for_some_seconds(corp, set_up):
    corp.answers[DISCOVERY] = say(500)
    for _ in range(4):
        assert Visitor().get("/oidc/corp").status_code == HTTPStatus.CONFLICT

    assert len(corp.calls(DISCOVERY)) == 1


@pytest.mark.parametrize("path", [DISCOVERY, "/jwks", "/token", "/userinfo"])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (say(500), "unexpected-answer"),
        (say(302, Location="http://127.0.0.1:9/"), "unexpected-answer"),
        (huge, "unreachable"),
        (lambda handler: handler.wfile.write(b"garbage"), "unreachable"),
        (say(200, ["a list"]), "not-json"),
    ],
    ids=["error", "redirect", "huge", "garbage", "not-json"],
)
def test_idp_answers_wrongly(corp, set_up, path, answer, why):
    corp.answers[path] = answer
    visitor = Visitor()
    first = visitor.get("/oidc/corp")
    last = come_back(visitor, corp.authorize(first.headers["Location"])) if first.status_code == 303 else first

    unavailable(last, why)
    assert visitor.token == ""


def test_idp_slow(corp, set_up, monkeypatch, bob):
    monkeypatch.setattr(fetching, "SECONDS", 0.2)
    corp.answers[DISCOVERY] = lambda _handler: corp.over.wait(60)

    unavailable(Visitor().get("/oidc/corp"), "unreachable")
    visitor = Visitor()
    visitor.sign_in()
    assert visitor.token


def test_a_slow_provider_takes_few_threads(corp, set_up, monkeypatch):
    monkeypatch.setattr(fetching, "_AT_ONCE", threading.BoundedSemaphore(1))
    with fetching._AT_ONCE:
        unavailable(Visitor().get("/oidc/corp"), "busy")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"issuer": "https://other.example"}, "issuer-mismatch"),
        ({"issuer": None}, "issuer-mismatch"),
        ({"token_endpoint": None}, "bad-discovery"),
        ({"token_endpoint": "http://corp.example/token"}, "bad-discovery"),
        ({"token_endpoint": "file:///etc/passwd"}, "bad-discovery"),
        ({"jwks_uri": "https://user:secret@corp.example/"}, "bad-discovery"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "bad-discovery"),
        ({"authorization_endpoint": "https://corp.example/\r\nSet-Cookie: a=b"}, "bad-discovery"),
        ({"authorization_endpoint": ["https://corp.example/"]}, "bad-discovery"),
        ({"code_challenge_methods_supported": "S256"}, "no-pkce"),
    ],
)
def test_a_discovery_document_that_is_wrong(corp, set_up, change, why):
    corp.discovery = change

    unavailable(Visitor().get("/oidc/corp"), why)


def test_a_public_provider_cannot_redirect_requests_to_a_private_network(corp, set_up, monkeypatch):
    """The discovery document names loopback; the provider may only be at public addresses."""
    set_up(issuer="https://corp.example", allow_private=False)
    document = {**corp._document(), "issuer": "https://corp.example"}
    monkeypatch.setattr("accounts.openid.documents.get_json", lambda *_: document)

    unavailable(Visitor().get("/oidc/corp"), "bad-discovery")


def test_a_name_that_resolves_to_a_private_address_is_not_asked(corp, set_up, monkeypatch):
    set_up(issuer=f"https://localhost:{corp.server.server_port}", allow_private=False)

    unavailable(Visitor().get("/oidc/corp"), "unreachable")
    assert corp.asked == []


def test_a_token_response_without_an_id_token(corp, set_up):
    corp.answers["/token"] = say(200, {"access_token": "access", "token_type": "Bearer"})

    unavailable(sign_in(Visitor(), corp), "no-id-token")


def test_a_client_secret_that_is_wrong(corp, set_up):
    set_up(client_secret="wrong")

    assert sign_in(Visitor(), corp).status_code == HTTPStatus.FORBIDDEN
    assert whys("provider.refused") == ["code-refused"]


def test_a_provider_that_takes_the_secret_in_the_body_alone(corp, set_up):
    corp.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    sign_in(Visitor(), corp)

    assert corp.calls("/token")[0]["client_secret"] == "a secret/with:signs"


def test_a_client_secret_that_cannot_be_opened(corp, set_up):
    services.IdentityProvider.objects.update(
        sealed_client_secret="v1.gone.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    )

    answer = Visitor().get("/oidc/corp")
    assert "Corp is not set up completely" in words(answer)
    assert whys("provider.failed") == ["sealed-secret"]


def test_a_provider_that_was_disabled_meanwhile(corp, set_up):
    visitor = Visitor()
    back = corp.authorize(leave(visitor))
    set_up(enabled=False)

    assert come_back(visitor, back).status_code == HTTPStatus.NOT_FOUND
    assert corp.calls("/token") == []
