"""Step-up: a second factor for a session without one; and rules of all pages of the second factor."""

from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.models import Session, TotpDevice
from gatewall.engine.snapshot import Segment
from gatewall.policy import revisions
from gatewall.publication import compiler
from policies import services
from tests.support.cast import OFFICE
from tests.support.proxies import a_token
from tests.support.second_factor import an_app
from tests.support.visitor import BACK, HOSTILE, field, words
from tests.unit.rule_facts import an_access_rule

pytestmark = pytest.mark.django_db


def methods(user):
    return sorted(Session.objects.filter(user=user, revoked_at=None).values_list("amr", flat=True))


def test_a_signed_in_user_is_asked_for_a_code_by_a_site_that_requires_two_factors(signed_in, bob, vault, auth):
    an_app(bob)

    assert auth(cookie=f"service.token={signed_in.token}").reason == "second-factor-required"
    page = signed_in.get("/", {"rd": BACK})

    assert 'action="/wall/step-up"' in page.text
    assert field(page, "rd") == BACK


def test_a_step_up_replaces_the_session(signed_in, bob, vault, auth):
    app, old = an_app(bob), signed_in.token

    answer = signed_in.send("/step-up", code=app.code(), rd=BACK)

    assert (answer.status_code, answer.headers["Location"]) == (303, BACK)
    assert signed_in.token != old
    assert auth(cookie=f"service.token={signed_in.token}").verdict == (200, "session-valid")
    assert auth(cookie=f"service.token={old}").verdict == (401, "credential-invalid")
    assert methods(bob) == [["pwd", "otp"]]


def test_a_step_up_adds_no_audience_to_the_session(signed_in, bob, vault):
    signed_in.send("/step-up", code=an_app(bob).code())

    assert signed_in.get("/users").status_code == 403


def test_a_planted_session_does_not_get_the_second_factor_of_another(visitor, alice, bob, vault, auth):
    """Session fixation: the attacker's token is worthless after the victim has entered their code."""
    planted, app = a_token(bob, audiences=["gate"]), an_app(bob)
    visitor.token = planted

    visitor.send("/step-up", code=app.code())

    assert auth(cookie=f"service.token={planted}").status == 401
    assert planted != visitor.token


def test_a_wrong_code_at_step_up_changes_nothing(signed_in, bob, vault):
    app, old = an_app(bob), signed_in.token

    page = signed_in.send("/step-up", code=app.wrong, rd=BACK)

    assert (page.status_code, field(page, "rd"), signed_in.token) == (401, BACK, old)
    assert methods(bob) == [["pwd"]]


def test_wrong_codes_at_step_up_are_counted(signed_in, bob):
    app = an_app(bob)
    pages = [signed_in.send("/step-up", code=code) for code in app.wrong_codes(7)]

    assert [page.status_code for page in pages] == [401] * 6 + [429]
    assert int(pages[-1].headers["Retry-After"]) > 0
    assert signed_in.send("/step-up", code=app.code()).status_code == 429


def test_a_code_of_another_user_is_wrong(signed_in, alice, bob):
    an_app(bob)

    assert signed_in.send("/step-up", code=an_app(alice).code()).status_code == 401


def test_a_session_with_two_factors_is_not_asked_again(visitor, bob, vault):
    visitor.token = a_token(bob, amr=("pwd", "otp"))

    page = visitor.get("/", {"rd": BACK})

    assert "Continue to" in words(page)


def test_of_several_session_cookies_the_one_with_two_factors_counts(visitor, bob, vault):
    weak, strong = a_token(bob), a_token(bob, amr=("pwd", "otp"))

    page = visitor.get("/", {"rd": BACK}, Cookie=f"service.token={weak}; service.token={strong}")

    assert "Continue to" in words(page)


PATHS = ["/step-up", "/enrol", "/enrol/confirm"]


@pytest.mark.parametrize("path", PATHS)
def test_step_up_without_a_session_redirects_to_the_guard_page_with_the_return_url(visitor, office, path):
    answer = visitor.send(path, code="123456", rd=BACK)

    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["Location"]).query) == {"rd": [BACK]}


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
@pytest.mark.parametrize("path", ["/second-factor", *PATHS])
def test_forms_sent_by_another_site_are_refused(signed_in, bob, path, headers):
    page = signed_in.send(path, headers, code="123456")

    assert page.status_code == 403
    assert "Another site sent this form." in words(page)
    assert not TotpDevice.objects.exists()


@pytest.mark.parametrize("rd", HOSTILE)
def test_no_page_redirects_to_a_hostile_return_url(signed_in, office, rd):
    paths = ["/", "/second-factor", *PATHS]
    answers = [signed_in.get(path, {"rd": rd}) for path in paths]
    answers += [
        signed_in.send(path, rd=rd, code="1", username="Bob", password="wrong") for path in (*paths, "/sign-out")
    ]

    for answer in answers:
        assert answer.headers.get("Location", "/wall/").startswith("/wall/")
        assert "evil" not in answer.headers.get("Location", "")
        assert "evil" not in answer.headers.get("Content-Security-Policy", "")
        assert "evil" not in answer.text
        assert "javascript:" not in answer.text


@pytest.mark.parametrize("fetch_site", [{"Sec-Fetch-Site": "same-origin"}, {}], ids=["with TLS", "without"])
def test_a_protected_site_may_have_a_button_for_signing_out(signed_in, office, settings, auth, fetch_site):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"
    signed_in.client.defaults["HTTP_HOST"] = OFFICE
    token = signed_in.token

    page = signed_in.send("/sign-out", {**fetch_site, "Origin": f"https://{OFFICE}"}, rd=BACK)

    assert (page.status_code, "Signed out" in words(page)) == (200, True)
    assert 'href="https://wall.example/wall/?rd=' in page.text
    assert auth(cookie=f"service.token={token}").status == 401


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}, {"Origin": "https://evil.example"}]
)
def test_a_sign_out_form_sent_by_another_site_is_refused(signed_in, settings, auth, headers):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"

    assert signed_in.send("/sign-out", headers).status_code == 403
    assert auth(cookie=f"service.token={signed_in.token}").status == 200


# Access rules.


@pytest.fixture
def rules(monkeypatch):
    """Return a function that creates these access rules."""

    def put(*made):
        monkeypatch.setitem(compiler._ROWS, Segment.ACCESS_RULES, lambda: made)
        revisions.one_at_a_time(revisions.advance)(Segment.ACCESS_RULES, actor="alice", changes=[])

    return put


@pytest.fixture
def office(db):
    return services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)


def at(path, signed_in, auth):
    return auth(cookie=f"service.token={signed_in.token}", x_forwarded_host=OFFICE, x_forwarded_uri=path).reason


def test_a_path_that_a_rule_protects_with_two_factors_asks_for_step_up_and_returns(signed_in, bob, office, rules, auth):
    app, back = an_app(bob), f"https://{OFFICE}/admin/users?a=b"
    rules(an_access_rule("two_factor", "prefix /admin"))

    assert at("/admin/users?a=b", signed_in, auth) == "second-factor-required"
    assert 'action="/wall/step-up"' in signed_in.get("/", {"rd": back}).text
    assert 'action="/wall/step-up"' not in signed_in.get("/", {"rd": f"https://{OFFICE}/x"}).text
    answer = signed_in.send("/step-up", code=app.code(), rd=back)

    assert answer.headers["Location"] == back
    assert at("/admin/users?a=b", signed_in, auth) == "session-valid"
    assert 'action="/wall/step-up"' not in signed_in.get("/", {"rd": back}).text


def test_a_path_that_asks_for_less_than_its_host_asks_for_no_code(signed_in, bob, vault, rules, auth):
    rules(an_access_rule("authenticated", "prefix /wiki"))

    assert at("/wiki/1", signed_in, auth) == "session-valid"
    assert "Continue to" in signed_in.get("/", {"rd": f"https://{OFFICE}/wiki/1"}).text
    assert 'action="/wall/enrol"' in signed_in.get("/", {"rd": f"https://{OFFICE}/wiki/../x"}).text


def test_a_rule_for_a_group_asks_its_members_alone(signed_in, bob, office, rules, auth):
    rules(
        an_access_rule("two_factor", groups=frozenset({4711})), an_access_rule("two_factor", users=frozenset({bob.pk}))
    )

    assert 'action="/wall/' in signed_in.get("/", {"rd": BACK}).text
    rules(an_access_rule("two_factor", groups=frozenset({4711})))
    assert "Continue to" in signed_in.get("/", {"rd": BACK}).text


def test_a_path_that_requires_a_passkey_shows_it_without_a_link_into_a_loop(signed_in, bob, office, rules, auth):
    rules(an_access_rule("phishing_resistant", "prefix /vault"))

    page = signed_in.get("/", {"rd": f"https://{OFFICE}/vault"})

    assert at("/vault", signed_in, auth) == "phishing-resistant-required"
    assert "phishing-resistant" in page.text
    assert "Continue to" not in page.text
