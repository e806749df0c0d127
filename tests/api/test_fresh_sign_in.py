"""Creating credentials that outlive the session requires a fresh sign-in or re-authentication."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from licensing.models import GitToken, License
from tests.api.own import OLD
from tests.support.proxies import PASSWORD, Api, a_git_token, a_token, code_of, enter_admin_site
from tests.support.second_factor import an_app
from webhooks import services as webhooks
from webhooks.models import Webhook

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

HOOK = {"name": "pager", "url": "https://hooks.example/in", "kinds": []}


def own_git_token(client, user, **proof):
    return client.post(f"/users/{user.pk}/git-tokens", {"name": "laptop", **proof})


def license_(client, user, **proof):
    return client.post("/licenses", {"name": "build farm", **proof})


def webhook(client, user, **proof):
    return client.post("/webhooks", {**HOOK, **proof})


def rotated(client, user, **proof):
    row = Webhook.objects.first() or webhooks.create_webhook(actor="cast", **HOOK)[0]
    return client.post(f"/webhooks/{row.pk}/rotate", proof)


MAKERS = pytest.mark.parametrize("make", [own_git_token, license_, webhook, rotated])


@pytest.fixture
def stale(alice):
    """Return a client whose session began ten minutes ago."""
    return Api(a_token(alice, at=timezone.now() - OLD))


def secrets_before_and_after(call):
    before = [(row.pk, row.sealed_secret) for row in Webhook.objects.all()]
    answer = call()
    return answer, before, [(row.pk, row.sealed_secret) for row in Webhook.objects.all()]


@MAKERS
def test_a_stale_session_creates_no_credential(stale, alice, make):
    webhooks.create_webhook(actor="cast", **{**HOOK, "name": "other"})
    answer, before, after = secrets_before_and_after(lambda: make(stale, alice))

    assert code_of(answer) == (403, "reauthentication-required")
    assert (before, GitToken.objects.count(), License.objects.count()) == (after, 0, 0)


@MAKERS
def test_a_wrong_password_creates_no_credential_and_is_counted(stale, alice, make):
    statuses = [make(stale, alice, password="wrong").status_code for _ in range(11)]

    assert statuses == [403] * 10 + [429]
    assert (GitToken.objects.count(), License.objects.count()) == (0, 0)


@MAKERS
def test_a_stale_session_creates_a_credential_with_the_password(stale, alice, make):
    assert make(stale, alice, password=PASSWORD).status_code in {200, 201}


@MAKERS
def test_a_stale_session_creates_a_credential_with_a_code(stale, alice, make):
    app = an_app(alice)
    assert code_of(make(stale, alice, code=app.wrong)) == (403, "reauthentication-failed")

    assert make(stale, alice, code=app.code()).status_code in {200, 201}


@MAKERS
def test_a_fresh_session_creates_a_credential_without_proof(alice, make):
    fresh = Api(a_token(alice, at=timezone.now() - OLD + timedelta(seconds=1)))

    assert make(fresh, alice).status_code in {200, 201}


@MAKERS
@pytest.mark.parametrize(
    ("age", "status"),
    [(OLD, {403}), (OLD - timedelta(seconds=1), {200, 201}), (-timedelta(seconds=30), {200, 201}), (-OLD, {403})],
    ids=["old", "fresh", "begun-by-a-clock-30s-fast", "begun-by-a-clock-that-was-put-back"],
)
def test_a_stale_admin_site_session_must_prove_itself_too(alice, make, age, status):
    client = Client()
    enter_admin_site(client, alice, at=timezone.now() - age)

    class Browser:
        def post(self, path, body):
            return client.post(f"/wall{path}", body, content_type="application/json")

    assert make(Browser(), alice).status_code in status


USER = {"username": "dora", "password": "a battery of staples"}
GIVES = {
    "a user": lambda client, _user, **proof: client.post("/users", {**USER, **proof}),
    "a password": lambda client, user, **proof: client.put(f"/users/{user.pk}", {"password": PASSWORD, **proof}),
    "the right of an admin": lambda client, user, **proof: client.put(f"/users/{user.pk}", {"is_admin": True, **proof}),
    "that of an auditor": lambda client, user, **proof: client.put(f"/users/{user.pk}", {"is_auditor": True, **proof}),
    "another password": lambda client, user, **proof: client.put(
        f"/users/{user.pk}/password", {"new_password": PASSWORD, **proof}
    ),
}


@pytest.mark.parametrize("what", GIVES)
def test_giving_access_asks_a_stale_session_for_the_password(stale, bob, what):
    before = bob.password

    assert code_of(GIVES[what](stale, bob)) == (403, "reauthentication-required")
    assert code_of(GIVES[what](stale, bob, current_password="wrong")) == (403, "reauthentication-failed")
    bob.refresh_from_db()
    assert (bob.password, bob.is_admin, bob.is_auditor) == (before, False, False)
    assert GIVES[what](stale, bob, current_password=PASSWORD).status_code in {200, 201}


@pytest.mark.parametrize("what", GIVES)
def test_giving_access_asks_a_fresh_session_for_nothing(admin, bob, what):
    assert GIVES[what](admin, bob).status_code in {200, 201}


def test_a_code_is_accepted_in_place_of_the_password(stale, alice):
    assert GIVES["a user"](stale, alice, code=an_app(alice).code()).status_code == 201


@pytest.mark.parametrize("change", [{"is_admin": False}, {"is_active": False}, {"remark": "x"}], ids=str)
def test_other_changes_ask_a_stale_session_for_nothing(stale, bob, change):
    assert stale.put(f"/users/{bob.pk}", change).status_code == 200


def test_an_admin_proves_their_own_password_for_the_token_of_another(stale, bob):
    assert own_git_token(stale, bob).status_code == 403

    assert own_git_token(stale, bob, password=PASSWORD).status_code == 201


@pytest.mark.parametrize("path", ["/licenses", "/webhooks"])
def test_a_change_takes_no_password(admin, alice, path):
    make = license_ if path == "/licenses" else webhook
    row = make(admin, alice).json()

    answer = admin.put(f"{path}/{row['id']}", {"remark": "x", "password": PASSWORD})

    assert answer.json()["errors"] == [
        {"field": "password", "code": "unknown-field", "message": "there is no such field"}
    ]


def test_a_git_token_expires_in_90_days_by_default(admin, alice):
    at = timezone.now()
    usual = own_git_token(admin, alice).json()["expires_at"]
    chosen = admin.post(f"/users/{alice.pk}/git-tokens", {"name": "b", "expires_at": "2030-01-01T00:00:00Z"}).json()
    never = admin.post(f"/users/{alice.pk}/git-tokens", {"name": "c", "expires_at": None}).json()

    assert usual == (at + timedelta(days=90)).isoformat().replace("+00:00", "Z")
    assert (chosen["expires_at"], never["expires_at"]) == ("2030-01-01T00:00:00Z", None)


@pytest.mark.parametrize(
    ("sent", "left"), [({}, 2), ({"revoke_git_tokens": False}, 2), ({"revoke_git_tokens": True}, 0)]
)
@pytest.mark.parametrize("own", [True, False])
def test_a_password_change_revokes_git_tokens_on_request(admin, alice, bob, auth, sent, left, own):
    texts = [a_git_token(bob, name=name) for name in ("laptop", "desk")]
    kept = a_git_token(alice)
    caller = Api(a_token(bob)) if own else admin
    current = {"current_password": PASSWORD} if own else {}

    answer = caller.put(f"/users/{bob.pk}/password", {"new_password": "another battery staple", **current, **sent})

    assert answer.status_code == 200
    assert GitToken.objects.filter(user=bob).count() == left
    assert {auth(service_git_token=f"Bob:{text}").status for text in texts} == ({200} if left else {401})
    assert auth(service_git_token=f"alice:{kept}").status == 200


def test_revoked_git_tokens_are_in_the_revision(admin, bob):
    a_git_token(bob)

    admin.put(f"/users/{bob.pk}/password", {"new_password": "another battery staple", "revoke_git_tokens": True})

    changes = admin.get("/policy/revisions").json()["results"][0]["counts"]
    assert sorted((each["resource"], each["action"]) for each in changes) == [
        ("users", "changed"),
        ("users/git-tokens", "deleted"),
    ]
