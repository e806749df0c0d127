"""Sign-in at an OpenID Connect provider: the user it signs in, attacks, and the pages after a failure."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from accounts import services as accounts
from accounts.identity_providers import services
from accounts.models import ExternalIdentity, ProviderSignIn, Session, User
from gatewall.agent.housekeeping import delete_expired
from policies import services as policies
from tests.support.provider_visits import COOKIE, answer_of, come_back, leave, sign_in, whys
from tests.support.proxies import a_user
from tests.support.second_factor import an_app
from tests.support.visitor import BACK, HOSTILE, Visitor, field, words

pytestmark = pytest.mark.django_db


def test_the_guard_page_has_a_button_that_needs_no_script(set_up, office):
    page = Visitor().get("/", {"rd": BACK})

    assert "Sign in with Corp" in page.text
    assert f'href="/wall/oidc/corp?rd={quote(BACK, safe="")}"' in page.text


def test_a_visitor_is_signed_in_and_redirected_back(corp, set_up, office):
    visitor = Visitor()
    answer = sign_in(visitor, corp, BACK)

    assert (answer.status_code, answer.headers["Location"]) == (303, BACK)
    user = User.objects.get(username="dora")
    assert (user.email, user.all_domains, user.is_admin, user.has_usable_password()) == (
        "dora@corp.example",
        False,
        False,
        False,
    )
    session = Session.objects.get(user=user)
    assert session.amr == ["fed"]
    assert session.at_provider.sid == "session-1"
    assert visitor.get("/account").status_code == 200


def test_the_authorization_request_has_the_expected_parameters(corp, set_up):
    asked = answer_of(leave(Visitor()))

    assert asked["response_type"] == "code"
    assert asked["scope"] == "openid profile email"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == "https://wall.example/wall/oidc/corp/callback"
    assert all(len(asked[name]) == 43 for name in ("state", "nonce", "code_challenge"))


def test_the_second_sign_in_is_the_same_user_under_another_name(corp, set_up):
    sign_in(Visitor(), corp)
    corp.claims["preferred_username"] = "renamed"
    sign_in(Visitor(), corp)

    [identity] = ExternalIdentity.objects.all()
    assert (identity.user.username, identity.shown_name) == ("dora", "renamed")
    assert Session.objects.filter(user=identity.user).count() == 2


@pytest.mark.parametrize("rd", HOSTILE)
def test_open_redirect_by_the_return_url(corp, set_up, office, rd):
    answer = sign_in(Visitor(), corp, rd)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/wall/")


def test_a_site_that_was_removed_meanwhile_is_not_returned_to(corp, set_up, office):
    visitor = Visitor()
    back = corp.authorize(leave(visitor, BACK))
    policies.remove_domain(office, actor="alice", force=True)

    assert come_back(visitor, back).headers["Location"] == "/wall/"


def test_state_replay(corp, set_up):
    visitor = Visitor()
    back = corp.authorize(leave(visitor))
    secret = visitor.client.cookies[COOKIE].value
    assert come_back(visitor, back).status_code == 303
    visitor.client.cookies[COOKIE] = secret

    assert come_back(visitor, back).status_code == 401
    assert whys("login.failed") == ["state-used"]
    assert len(corp.calls("/token")) == 1


def test_login_csrf_by_the_answer_of_another_browser(corp, set_up):
    attacker, victim = Visitor(), Visitor()
    back = corp.authorize(leave(attacker))
    leave(victim)

    assert come_back(victim, back).status_code == 401
    assert victim.token == ""
    assert whys("login.failed") == ["other-browser"]
    assert corp.calls("/token") == []


def test_an_unknown_state_is_refused(corp, set_up):
    visitor = Visitor()
    leave(visitor)

    answer = visitor.get("/oidc/corp/callback", {"state": "x" * 43, "code": "code", "iss": corp.issuer})
    assert answer.status_code == 401
    assert whys("login.failed") == ["state-unknown"]


def test_a_sign_in_lasts_ten_minutes(corp, set_up, clock):
    corp.clock = lambda: timezone.now().timestamp()
    visitor = Visitor()
    back = corp.authorize(leave(visitor))
    clock.shift(timedelta(minutes=10))

    assert come_back(visitor, back).status_code == 401
    assert delete_expired(ProviderSignIn, timezone.now()) == 1


def test_the_answer_of_a_second_provider_does_not_end_a_sign_in_at_the_first(corp, set_up):
    services.create_provider(actor="alice", **corp.settings(slug="other", name="Other"))
    visitor = Visitor()
    query = answer_of(corp.authorize(leave(visitor)))

    answer = visitor.get("/oidc/other/callback", query)
    assert answer.status_code == 401
    assert corp.calls("/token") == []


def test_mix_up_by_the_issuer_of_the_response(corp, set_up):
    corp.in_response = {"iss": "https://attacker.example"}

    answer = sign_in(Visitor(), corp)
    assert answer.status_code == 403
    assert whys("provider.refused") == ["response-issuer"]
    assert corp.calls("/token") == []


def test_mix_up_by_a_response_without_the_announced_issuer(corp, set_up):
    corp.in_response = {"iss": None}

    assert sign_in(Visitor(), corp).status_code == 403
    assert corp.calls("/token") == []


def test_a_provider_that_announces_no_issuer_may_leave_it_out(corp, set_up):
    corp.discovery, corp.in_response = {"authorization_response_iss_parameter_supported": None}, {"iss": None}

    assert sign_in(Visitor(), corp).status_code == 303


def test_code_injection(corp, set_up):
    """The code of the attacker's own sign-in, put into the response to the victim's: PKCE refuses it."""
    attacker, victim = Visitor(), Visitor()
    stolen = answer_of(corp.authorize(leave(attacker)))["code"]
    query = answer_of(corp.authorize(leave(victim)))

    answer = victim.get("/oidc/corp/callback", {"state": query["state"], "code": stolen, "iss": corp.issuer})
    assert answer.status_code == 403
    assert whys("provider.refused") == ["code-refused"]


def test_code_injection_at_a_provider_without_pkce_is_refused_by_the_nonce(corp, set_up):
    corp.wants_pkce, corp.discovery = False, {"code_challenge_methods_supported": None}
    attacker, victim = Visitor(), Visitor()
    stolen = answer_of(corp.authorize(leave(attacker)))["code"]
    query = answer_of(corp.authorize(leave(victim)))

    answer = victim.get("/oidc/corp/callback", {"state": query["state"], "code": stolen, "iss": corp.issuer})
    assert answer.status_code == 403
    assert whys("provider.refused") == ["nonce"]


def test_nonce_replay(corp, set_up):
    first = Visitor()
    sign_in(first, corp)
    corp.in_token = {"nonce": "that-of-an-earlier-sign-in"}

    assert sign_in(Visitor(), corp).status_code == 403
    assert whys("provider.refused") == ["nonce"]


def test_pkce_downgrade(corp, set_up):
    corp.discovery = {"code_challenge_methods_supported": ["plain"]}

    answer = Visitor().get("/oidc/corp")
    assert answer.status_code == 409
    assert whys("provider.failed") == ["no-pkce"]


def test_pkce_verifier_is_sent_with_each_code_and_never_twice(corp, set_up):
    sign_in(Visitor(), corp)
    sign_in(Visitor(), corp)

    verifiers = [form["code_verifier"] for form in corp.calls("/token")]
    assert len(set(verifiers)) == 2
    assert all(len(each) == 43 for each in verifiers)


def test_cancelling_at_the_provider_shows_an_error(corp, set_up):
    visitor = Visitor()
    query = answer_of(leave(visitor))

    answer = visitor.get("/oidc/corp/callback", {"state": query["state"], "error": "access_denied", "iss": corp.issuer})
    assert answer.status_code == 403
    assert "Corp did not sign you in, or you cancelled there." in words(answer)
    assert ProviderSignIn.objects.get().spent_at is not None


def test_the_second_factor_of_the_account_is_still_required(corp, set_up, office):
    sign_in(Visitor(), corp)
    app, visitor = an_app(User.objects.get(username="dora")), Visitor()
    page = sign_in(visitor, corp, BACK)

    assert (page.status_code, visitor.token) == (200, "")
    answer = visitor.send("/second-factor", challenge=field(page, "challenge"), code=app.code(), rd=field(page, "rd"))
    assert answer.headers["Location"] == BACK
    session = Session.objects.latest("issued_at")
    assert session.amr == ["otp", "fed"]
    assert session.at_provider.sid == "session-1"


def test_a_second_factor_of_the_provider_counts_if_it_is_trusted(corp, set_up):
    corp.claims["amr"] = ["pwd", "otp", "mfa"]
    sign_in(Visitor(), corp)
    assert Session.objects.get().amr == ["fed"]
    set_up(trust_amr=True)
    an_app(User.objects.get(username="dora"))

    assert sign_in(Visitor(), corp).status_code == 303
    assert Session.objects.latest("issued_at").amr == ["pwd", "otp", "mfa", "fed"]


def test_several_hosts(corp, set_up, office):
    set_up(domains=[office.name])

    assert "Sign in with Corp" in Visitor().get("/", {"rd": BACK}).text
    assert "Sign in with Corp" not in Visitor().get("/").text
    assert Visitor().get("/oidc/corp").status_code == 404
    set_up(enabled=False)
    assert "Sign in with Corp" not in Visitor().get("/", {"rd": BACK}).text


def test_a_disabled_account_is_not_signed_in(corp, set_up):
    sign_in(Visitor(), corp)
    accounts.change_user(User.objects.get(username="dora"), actor="alice", is_active=False)

    answer = sign_in(Visitor(), corp)
    assert answer.status_code == 403
    assert "This account is disabled." in words(answer)


def test_no_user_is_created_unless_the_provider_allows_it(corp, set_up):
    set_up(create_users=False)

    answer = sign_in(Visitor(), corp)
    assert answer.status_code == 403
    assert not User.objects.filter(username="dora").exists()


def test_a_user_name_that_is_taken_is_refused(corp, set_up):
    a_user("DORA")

    assert "There is a user of this name already" in words(sign_in(Visitor(), corp))
    assert User.objects.count() == 1
