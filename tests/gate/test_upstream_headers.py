"""A 200 has the headers for the site in dialects whose proxies cannot remove a single cookie, on both planes."""

import base64

from tests.support.proxies import a_git_token, a_token

CUTTING = {"forward", "original-url", "envoy"}


def test_a_200_has_the_cookies_without_ours_in_every_dialect_but_nginx(both, visit, dialect, bob):
    answer = both(visit().plus(("Cookie", f"a=1; service.token={a_token(bob)}; b=\u00e9")))

    assert answer.status == 200
    assert answer.headers.get("cookie") == ("a=1; b=\u00e9" if dialect in CUTTING else None)


def test_a_200_does_not_pass_a_git_token_on(both, visit, dialect, bob):
    basic = base64.b64encode(f"Bob:{a_git_token(bob)}".encode()).decode()

    answer = both(visit().plus(("Authorization", f"Basic {basic}")))

    assert answer.status == 200
    assert answer.headers.get("authorization") == ("" if dialect in CUTTING else None)


def test_a_200_passes_the_sites_own_authorization_on(both, visit, dialect, bob):
    answer = both(visit().plus(("Cookie", f"service.token={a_token(bob)}"), ("Authorization", "Bearer mine")))

    assert answer.headers.get("authorization") == ("Bearer mine" if dialect in CUTTING else None)
    assert answer.headers.get("cookie") == ("" if dialect in CUTTING else None)


def test_only_a_200_repeats_headers_of_the_visitor(both, visit):
    answer = both(visit().plus(("Cookie", "a=1; service.token=x"), ("Authorization", "Bearer mine")))

    assert answer.status in {302, 401}
    assert {"cookie", "authorization"}.isdisjoint(answer.headers)
