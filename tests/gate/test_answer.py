"""The answers of ``/auth``, and the peers whose headers it trusts."""

import uuid

import pytest

from gatewall.kernel.clientip import TrustedProxies
from policies import services
from tests.support.cast import CLIENT
from tests.support.proxies import a_git_token, a_license, a_token

pytestmark = pytest.mark.django_db
IDENTITY = ("Remote-User", "Remote-Email", "Remote-Groups", "X-Gatewall-Subject-Kind")


def identity(answer):
    return tuple(answer.headers[name] for name in IDENTITY)


def test_a_user_is_named_to_the_site(auth, bob):
    assert identity(auth(service_authorization=a_token(bob))) == ("Bob", "bob@office.example", "", "user")


def test_an_admin_is_in_the_group_of_admins(auth, alice):
    answer = auth(service_authorization=a_token(alice))

    assert identity(answer) == ("alice", "alice@office.example", "admins", "user")


def test_a_git_token_is_named_after_its_user(auth, bob):
    answer = auth(service_git_token=f"Bob:{a_git_token(bob)}")

    assert identity(answer) == ("Bob", "bob@office.example", "", "git-token")


def test_a_license_has_no_name(auth):
    assert identity(auth(service_license=a_license("alice"))) == ("", "", "", "license")


def test_an_allowed_client_gets_every_identity_header_empty(auth):
    services.allow_network(actor="alice", network=CLIENT)

    assert identity(auth(remote_user="admin", remote_groups="admins")) == ("", "", "", "client")


def test_a_visitor_of_a_public_domain_gets_every_identity_header_empty(auth):
    services.register_domain(actor="", name="office.example", access="public", seed=True)

    assert identity(auth(remote_user="admin")) == ("", "", "", "public")


@pytest.mark.parametrize("signed_in", [True, False])
def test_head_is_answered_like_get(auth, bob, signed_in):
    token = a_token(bob) if signed_in else None
    get, head = (auth(verb=verb, service_authorization=token) for verb in ("GET", "HEAD"))

    assert head.verdict == get.verdict
    assert set(head.headers) == set(get.headers)


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_allowed(auth, bob, verb):
    answer = auth(verb=verb, service_authorization=a_token(bob))

    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_the_answer_has_no_body(auth, bob):
    answers = [auth(), auth(service_authorization=a_token(bob)), auth(x_forwarded_method="bad method")]

    assert [answer.status for answer in answers] == [401, 200, 403]
    assert all(answer.body == b"" and answer.headers["Content-Length"] == "0" for answer in answers)


def test_every_answer_has_a_decision_id_that_sorts_by_time(auth):
    ids = [uuid.UUID(auth().headers["X-Gatewall-Decision-Id"]) for _ in range(3)]

    assert len(set(ids)) == 3
    assert {id_.version for id_ in ids} == {7}
    assert [id_.int >> 80 for id_ in ids] == sorted(id_.int >> 80 for id_ in ids)


def test_no_answer_is_kept_by_a_cache(auth):
    assert auth().headers["Cache-Control"] == "no-store"


def test_a_browser_challenge_opens_no_password_prompt(auth):
    assert auth().headers["WWW-Authenticate"].startswith("Gatewall realm=")


@pytest.mark.parametrize(
    "headers",
    [
        {"user_agent": "git/2.49.0"},
        {"x_forwarded_uri": "/repo.git/info/refs?service=git-upload-pack"},
        {"x_forwarded_uri": "/repo.git/git-receive-pack"},
        {"authorization": "Basic Qm9iOmd3Z18x"},
    ],
    ids=["user agent", "info/refs", "git-receive-pack", "Basic was sent"],
)
def test_git_is_challenged_with_basic(auth, headers):
    assert auth(**headers).headers["WWW-Authenticate"].startswith("Basic realm=")


def test_the_redirect_to_the_guard_page_has_the_way_back(auth, office):
    answer = auth(x_forwarded_host="office.example:8443", x_forwarded_uri="/a?b=c&d=%20é")

    assert answer.headers["Location"] == (
        "https://office.example:8443/wall/?rd=https%3A%2F%2Foffice.example%3A8443%2Fa%3Fb%3Dc%26d%3D%2520%E9"
    )


def test_an_unregistered_host_never_redirects_to_its_own_guard_page(auth):
    assert auth(x_forwarded_host="evil.example").headers["Location"] == "/wall/"


def test_the_guard_page_is_on_the_public_url_if_one_is_set(new_gate, settings, office):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"

    location = new_gate()().headers["Location"]

    assert location == "https://wall.example/wall/?rd=https%3A%2F%2Foffice.example%2F"


def test_an_untrusted_peer_cannot_forward_an_address(auth):
    services.allow_network(actor="alice", network=CLIENT)

    assert auth(peer="203.0.113.9", x_forwarded_for=CLIENT).status == 401


def test_an_untrusted_peer_is_the_client(auth, bob):
    services.block_network(actor="alice", network="203.0.113.9")

    assert auth(peer="203.0.113.9", service_authorization=a_token(bob)).verdict == (403, "client-blocked")


def test_malformed_headers_of_an_untrusted_peer_are_ignored(auth, bob):
    answer = auth(peer="203.0.113.9", x_forwarded_for="nonsense", service_authorization=a_token(bob))

    assert answer.status == 200


def test_without_trusted_proxies_even_loopback_headers_are_ignored(new_gate, settings, bob):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies(())
    services.block_network(actor="alice", network=CLIENT)

    assert new_gate()(service_authorization=a_token(bob)).status == 200


def test_a_unix_socket_is_trusted(auth, bob):
    services.block_network(actor="alice", network=CLIENT)

    assert auth(peer="", service_authorization=a_token(bob)).verdict == (403, "client-blocked")


def test_the_allowlist_does_not_let_the_proxy_itself_in(auth):
    services.allow_network(actor="alice", network="127.0.0.1")

    assert auth(x_forwarded_for=None).status == 401


def test_addresses_to_the_left_of_the_client_are_ignored(auth):
    services.allow_network(actor="alice", network="10.1.1.1")

    assert auth(x_forwarded_for=f"10.1.1.1, garbage, {CLIENT}").status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"x_forwarded_for": "198.51.100.7, 010.0.0.1"},
        {"x_forwarded_for": "fe80::1%eth0"},
        {"x_forwarded_host": "office.example,files.example"},
        {"x_forwarded_host": "office.example\nfiles.example"},
        {"x_forwarded_host": "office example"},
        {"x_forwarded_proto": "gopher"},
        {"x_forwarded_method": "GET,POST"},
        {"x_forwarded_method": "get"},
        {"x_forwarded_uri": "office"},
        {"x_forwarded_uri": "/a\nb"},
        {"x_forwarded_uri": "/a\x7f"},
    ],
    ids=lambda headers: "-".join(f"{name}={value!r}" for name, value in headers.items()),
)
def test_a_malformed_header_of_a_trusted_proxy_is_refused(auth, bob, headers):
    answer = auth(service_authorization=a_token(bob), **headers)

    assert answer.verdict == (403, "request-malformed")


def test_the_headers_of_another_dialect_have_no_effect(auth, bob):
    services.block_network(actor="alice", network="203.0.113.9")
    token = a_token(bob)
    foreign = {
        "x_original_url": "https://evil.example/",
        "x_original_uri": "/.env",
        "x_real_ip": "203.0.113.9",
        "forwarded": "for=203.0.113.9;host=evil.example",
        "x_forwarded_server": "evil.example",
        "x_forwarded_prefix": "/x",
    }

    assert auth(service_authorization=token, **foreign).verdict == auth(service_authorization=token).verdict
