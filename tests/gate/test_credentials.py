"""Every kind of credential: from its rows to the answer of ``/auth``."""

from base64 import b64encode
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.support.proxies import a_git_token, a_license, a_token

pytestmark = pytest.mark.django_db


def basic(username: str, password: str) -> str:
    return "Basic " + b64encode(f"{username}:{password}".encode()).decode()


def test_without_credential_the_visitor_must_sign_in(auth):
    assert auth().verdict == (401, "credential-missing")


def test_a_session_token_in_its_header_passes(auth, bob):
    assert auth(service_authorization=a_token(bob)).verdict == (200, "session-valid")


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
def test_a_session_token_with_a_bearer_prefix_passes(auth, bob, scheme):
    assert auth(service_authorization=scheme + a_token(bob)).verdict == (200, "session-valid")


def test_a_session_token_in_its_cookie_passes(auth, bob):
    assert auth(cookie=f"theme=dark; service.token={a_token(bob)}").verdict == (200, "session-valid")


def test_the_fourth_cookie_of_the_name_is_tried(auth, bob):
    cookies = [*(f"service.token=bad{number}" for number in range(3)), f"service.token={a_token(bob)}"]

    assert auth(cookie="; ".join(cookies)).verdict == (200, "session-valid")


def test_the_fifth_cookie_of_the_name_is_not_tried(auth, bob):
    cookies = [*(f"service.token=bad{number}" for number in range(4)), f"service.token={a_token(bob)}"]

    assert auth(cookie="; ".join(cookies)).verdict == (401, "credential-invalid")


def test_a_token_of_the_guard_page_opens_the_gate(auth, bob):
    assert auth(service_authorization=a_token(bob, audiences=["gate"])).status == 200


def test_a_token_for_the_api_only_does_not_open_the_gate(auth, bob):
    assert auth(service_authorization=a_token(bob, audiences=["api"])).verdict == (401, "credential-invalid")


def test_a_valid_cookie_is_accepted_after_an_invalid_header(auth, bob):
    assert auth(service_authorization="no.good.token", cookie=f"service.token={a_token(bob)}").status == 200


def test_a_valid_header_is_accepted_before_an_invalid_cookie(auth, bob):
    assert auth(service_authorization=a_token(bob), cookie="service.token=no.good.token").status == 200


def test_the_header_names_the_visitor_when_the_cookie_names_another(auth, alice, bob):
    answer = auth(service_authorization=a_token(bob), cookie=f"service.token={a_token(alice)}")

    assert answer.headers["Remote-User"] == "Bob"


def test_a_git_token_with_its_user_name_passes(auth, bob):
    assert auth(service_git_token=f"Bob:{a_git_token(bob)}").verdict == (200, "git-token-valid")


def test_the_user_name_of_a_git_token_may_be_in_other_case(auth, bob):
    assert auth(service_git_token=f"bOB:{a_git_token(bob)}").status == 200


def test_a_git_token_with_another_users_name_does_not_pass(auth, alice, bob):
    assert auth(service_git_token=f"alice:{a_git_token(bob)}").verdict == (401, "credential-invalid")


def test_a_git_token_passes_as_basic_authorization(auth, bob):
    assert auth(authorization=basic("Bob", a_git_token(bob))).verdict == (200, "git-token-valid")


def test_a_password_as_basic_authorization_is_ignored(auth, bob):
    assert auth(authorization=basic("Bob", "hunter2")).verdict == (401, "credential-missing")


def test_a_session_token_as_authorization_bearer_is_ignored(auth, bob):
    assert auth(authorization=f"Bearer {a_token(bob)}").verdict == (401, "credential-missing")


def test_a_license_passes(auth):
    assert auth(service_license=a_license()).verdict == (200, "license-valid")


def test_a_license_that_is_switched_off_does_not_pass(auth):
    assert auth(service_license=a_license(is_active=False)).verdict == (401, "credential-invalid")


def test_an_expired_license_does_not_pass(auth):
    token = a_license(expires_at=timezone.now() - timedelta(seconds=1))

    assert auth(service_license=token).verdict == (401, "credential-invalid")


def test_an_expired_git_token_does_not_pass(auth, bob):
    token = a_git_token(bob, expires_at=timezone.now() - timedelta(seconds=1))

    assert auth(service_git_token=f"Bob:{token}").verdict == (401, "credential-invalid")


def test_an_expired_session_does_not_pass(auth, bob):
    token = a_token(bob, at=timezone.now() - timedelta(hours=25))

    assert auth(service_authorization=token).verdict == (401, "credential-invalid")


@pytest.mark.parametrize("header", ["service_authorization", "service_git_token"])
def test_a_license_sent_as_another_credential_does_not_pass(auth, bob, header):
    assert auth(**{header: a_license()}).verdict == (401, "credential-invalid")


def test_a_session_token_sent_as_a_license_does_not_pass(auth, bob):
    assert auth(service_license=a_token(bob)).verdict == (401, "credential-invalid")


def test_a_request_with_a_valid_token_passes_without_forwarding_headers(auth, bob):
    assert auth.plain(service_authorization=a_token(bob)).verdict == (200, "session-valid")


def test_the_digest_of_a_license_is_no_license(auth):
    from licensing.models import License  # noqa: PLC0415

    a_license()

    assert auth(service_license=License.objects.get().digest).status == 401
