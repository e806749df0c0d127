"""The table of sign-in methods, and the combined ``amr`` of several."""

import pytest

from accounts.sign_in import methods
from gatewall.engine.auth_methods import AUTH_METHODS, SECOND_FACTORS


@pytest.mark.parametrize(
    ("proofs", "amr"),
    [
        ([()], ()),
        ([("pwd",), ("otp",)], ("pwd", "otp")),
        ([("otp",), ("pwd",)], ("pwd", "otp")),
        ([("pwd", "otp"), ("mfa",), ("otp",)], ("pwd", "otp", "mfa")),
    ],
)
def test_amr_is_everything_that_was_proved_once(proofs, amr):
    assert methods.union(*proofs) == amr


def test_every_method_has_its_own_name_and_proves_known_amr_values():
    names = [method.name for method in methods.METHODS]

    assert len(set(names)) == len(names)
    assert {proved for method in methods.METHODS for proved in method.amr} <= set(AUTH_METHODS)


def test_every_method_begins_a_sign_in_or_answers_its_challenge():
    assert all(method.offers or method.is_second_factor for method in methods.METHODS)


def test_a_code_of_a_second_factor_proves_a_second_factor():
    second = [method for method in methods.METHODS if method.codes]

    assert [method.name for method in second] == ["totp", "recovery-code"]
    assert all(not SECOND_FACTORS.isdisjoint(method.amr) for method in second)


@pytest.mark.parametrize(
    ("text", "name"),
    [("123456", "totp"), (" 123 456 ", "totp"), ("12345", "recovery-code"), ("abcd-efgh-jkmn-pqrs", "recovery-code")],
)
def test_a_typed_code_is_of_one_method(text, name):
    found = [method.name for method in methods.METHODS if method.codes and method.codes.is_code(text)]

    assert found == [name]


def test_the_guard_page_offers_the_password():
    (password,) = [method for method in methods.METHODS if method.name == "password"]

    assert [offer.page for offer in password.offers("wall.example.com")] == ["portal/sign_in/password.html"]
