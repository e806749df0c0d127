"""Bytes 0x80 to 0xFF reach the decision unchanged, and have no effect in irrelevant headers."""

import pytest

from policies import services
from tests.support.proxies import a_git_token, a_license, a_token

pytestmark = pytest.mark.django_db
HIGH = [chr(byte) for byte in range(0x80, 0x100)]
EVERY = "".join(HIGH)


@pytest.mark.parametrize(
    "header",
    ["service_authorization", "service_git_token", "service_license", "authorization", "cookie"],
)
@pytest.mark.parametrize("around", ["{}", "x{}", "a.b.{}", "Bob:{}", "Basic {}", "service.token={}", "Bearer {}"])
def test_a_credential_of_high_bytes_is_invalid(auth, header, around):
    for byte in [*HIGH, EVERY]:
        answer = auth(**{header: around.format(byte)})

        assert answer.status == 401, (byte, answer)


@pytest.mark.parametrize("header", ["user_agent", "referer", "accept_language", "x_anything", "cookie"])
def test_high_bytes_in_a_header_of_the_visitor_change_nothing(auth, bob, header):
    token = a_token(bob)

    for byte in [*HIGH, EVERY]:
        assert auth(service_authorization=token, **{header: byte}).verdict == (200, "session-valid")


@pytest.mark.parametrize("header", ["x_forwarded_for", "x_forwarded_proto", "x_forwarded_method"])
def test_high_bytes_in_client_scheme_and_method_are_malformed(auth, bob, header):
    token = a_token(bob)

    for byte in HIGH:
        answer = auth(service_authorization=token, **{header: f"https{byte}"})

        assert answer.verdict == (403, "request-malformed"), byte


def test_a_host_of_high_bytes_is_answered(auth, bob):
    token = a_token(bob)

    for byte in [*HIGH, EVERY]:
        assert auth(service_authorization=token, x_forwarded_host=f"{byte}.example").status in {200, 403}


def test_a_host_in_utf_8_is_matched_by_its_a_label(auth, bob):
    services.register_domain(actor="alice", name="xn--bcher-kva.example", access="authenticated")
    raw = "bücher.example".encode().decode("latin-1")

    assert auth(service_authorization=a_token(bob), x_forwarded_host=raw).status == 200


def test_high_bytes_in_the_uri_pass(auth, bob):
    token = a_token(bob)

    for byte in [*HIGH, EVERY]:
        assert auth(service_authorization=token, x_forwarded_uri=f"/{byte}?q={byte}").status == 200


def test_a_rule_sees_the_bytes_of_the_uri(auth, bob):
    services.create_waf_rule(actor="alice", name="bytes", pattern=r"\xc0\xae")

    answer = auth(service_authorization=a_token(bob), x_forwarded_uri="/\xc0\xae\xc0\xae/etc/passwd")

    assert answer.verdict == (403, "waf-rule")


def test_a_valid_credential_passes_beside_high_bytes_in_all_others(auth, bob):
    answer = auth(
        service_authorization=f"Bearer {EVERY}",
        cookie=f"service.token={EVERY}; other={EVERY}",
        service_git_token=f"Bob:{a_git_token(bob)}",
        service_license=EVERY,
        user_agent=EVERY,
    )

    assert answer.verdict == (200, "git-token-valid")


def test_a_user_name_of_high_bytes_with_a_valid_git_token_is_refused(auth, bob):
    token = a_git_token(bob)

    assert {auth(service_git_token=f"{byte}:{token}").verdict for byte in HIGH} == {(401, "credential-invalid")}


def test_a_license_with_an_extra_byte_is_invalid(auth):
    token = a_license()

    assert {auth(service_license=token + byte).verdict for byte in HIGH} == {(401, "credential-invalid")}
