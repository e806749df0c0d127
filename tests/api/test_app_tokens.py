"""App tokens over the API: their values, who may create one, and the paths that one opens at once on this host."""

import base64

import pytest

from gatewall.engine.hosts import Access
from gatewall.policy import revisions
from licensing.models import AppToken
from policies import services
from tests.support.cast import OFFICE

pytestmark = pytest.mark.django_db
DAV = {"name": "calendar", "authorized_domains": [OFFICE], "path_prefixes": ["/dav"]}


@pytest.fixture
def tokens_of_bob(bob):
    services.register_domain(actor="alice", name=OFFICE, access=Access.AUTHENTICATED)
    return f"/users/{bob.pk}/app-tokens"


def code(response):
    return response.status_code, response.json()["code"]


def basic(name, token):
    return "Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()


def test_a_token_is_shown_once_and_stored_as_a_digest(admin, tokens_of_bob):
    made = admin.post(tokens_of_bob, DAV)
    body = made.json()

    assert made.status_code == 201
    assert body["token"].startswith("gwp_")
    assert (body["authorized_domains"], body["path_prefixes"], body["all_domains"]) == ([OFFICE], ["/dav"], False)
    assert (body["last_used_at"], body["last_used_by"]) == (None, "")
    assert "token" not in admin.get(f"{tokens_of_bob}/{body['id']}").json()
    assert body["token"] not in str(AppToken.objects.values().get())


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "calendar"},
        {**DAV, "path_prefixes": ["dav"]},
        {**DAV, "path_prefixes": ["/dav/"]},
        {**DAV, "path_prefixes": ["/a/../b"]},
        {**DAV, "path_prefixes": [f"/{number}" for number in range(21)]},
        {**DAV, "authorized_domains": ["unknown.example"]},
        {**DAV, "path_prefixes": [1]},
    ],
    ids=["no scope", "no slash", "slash at the end", "dot segments", "too many", "unknown domain", "no text"],
)
def test_an_invalid_scope_is_refused(admin, tokens_of_bob, sent):
    assert admin.post(tokens_of_bob, sent).status_code == 400
    assert not AppToken.objects.exists()


def test_a_user_creates_only_their_own_tokens(user, bob, alice, tokens_of_bob):
    assert user.post(tokens_of_bob, DAV).status_code == 201
    assert user.post(f"/users/{alice.pk}/app-tokens", DAV).status_code == 403


def test_a_user_has_at_most_fifty(admin, bob, tokens_of_bob):
    AppToken.objects.bulk_create(
        AppToken(user=bob, name=str(number), prefix="gwp_", digest=f"{number:064}") for number in range(50)
    )

    assert code(admin.post(tokens_of_bob, DAV)) == (409, "too-many-app-tokens")


def test_a_token_opens_its_scope_until_it_is_deleted(admin, auth, tokens_of_bob):
    made = admin.post(tokens_of_bob, DAV).json()
    sent = {"x_forwarded_for": "198.51.100.7", "x_forwarded_host": OFFICE, "authorization": f"Bearer {made['token']}"}

    def reason(uri, **other):
        return auth(**{**sent, "x_forwarded_uri": uri, **other}).reason

    assert reason("/dav/calendars") == "app-token-valid"
    assert reason("/dav", authorization=basic("bob", made["token"])) == "app-token-valid"
    assert reason("/") == "host-not-in-scope"
    assert admin.delete(f"{tokens_of_bob}/{made['id']}").status_code == 204
    assert reason("/dav/calendars") == "credential-invalid"


def test_an_access_rule_may_name_a_header_for_app_tokens(admin, auth, tokens_of_bob):
    token = admin.post(tokens_of_bob, DAV).json()["token"]
    sent = {"x_forwarded_for": "198.51.100.7", "x_forwarded_host": OFFICE, "x_forwarded_uri": "/dav"}

    assert auth(**sent, x_emby_token=token).reason == "credential-invalid"
    rule = {"name": "media", "access": "authenticated", "domains": [OFFICE], "app_token_header": "X-Emby-Token"}
    assert admin.post("/access-rules", rule).json()["app_token_header"] == "x-emby-token"
    assert auth(**sent, x_emby_token=token).reason == "app-token-valid"


@pytest.mark.parametrize(
    "name", ["authorization", "Cookie", "X-Forwarded-For", "remote-user", "a b", "service-license"]
)
def test_a_reserved_header_name_is_refused(admin, name):
    sent = {"name": "media", "access": "authenticated", "app_token_header": name}

    assert admin.post("/access-rules", sent).status_code == 400


def test_a_webdav_client_is_asked_for_a_password_and_a_page_is_not(auth, tokens_of_bob):
    sent = {"x_forwarded_for": "198.51.100.7", "x_forwarded_host": OFFICE, "x_forwarded_uri": "/dav"}
    asked = auth(**sent, x_forwarded_method="PROPFIND").headers["WWW-Authenticate"]
    page = auth(**sent, x_forwarded_method="PROPFIND", sec_fetch_mode="cors").headers["WWW-Authenticate"]

    assert (asked.partition(" ")[0], page.partition(" ")[0]) == ("Basic", "Gatewall")


def test_explain_takes_a_token_and_its_id(admin, tokens_of_bob):
    made = admin.post(tokens_of_bob, DAV).json()
    asked = {"client_ip": "198.51.100.7", "host": OFFICE, "method": "GET", "uri": "/dav"}

    for told in ({"token": made["token"]}, {"id": made["id"]}):
        body = admin.post("/policy/explain", {**asked, "credential": {"kind": "app-token", **told}}).json()
        assert (body["decision"]["reason"], body["scope"]["token"]) == ("app-token-valid", True)


def test_a_deleted_domain_leaves_the_scope_without_widening_it(admin, tokens_of_bob):
    made = admin.post(tokens_of_bob, DAV).json()
    (domain,) = admin.get("/authorized-domains").json()["results"]
    admin.delete(f"/authorized-domains/{domain['id']}")

    shown = admin.get(f"{tokens_of_bob}/{made['id']}").json()
    assert (shown["authorized_domains"], shown["all_domains"]) == ([], False)


def test_a_new_password_deletes_tokens_only_on_request(admin, bob, tokens_of_bob):
    admin.post(tokens_of_bob, DAV)
    sent = {"new_password": "another battery staple"}

    admin.put(f"/users/{bob.pk}/password", sent)
    assert bob.app_tokens.count() == 1
    admin.put(f"/users/{bob.pk}/password", {**sent, "revoke_app_tokens": True})
    assert bob.app_tokens.count() == 0
    assert "users/app-tokens" in str(admin.get(f"/policy/revisions/{revisions.head().revision}").json())
