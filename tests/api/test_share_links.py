"""Share links over the API: their values, who may create one, and what overrides them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import SecurityEvent
from gatewall.models import PolicyRevision
from policies import services
from policies.grant_limits import MAX_SHARE_LINKS
from policies.models import AuthorizedDomain, ShareLink
from tests.support.cast import OFFICE
from tests.support.moments import in_hours
from tests.support.share_links import a_guest_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(admin):
    return services.register_domain(actor="alice", name=OFFICE, access="authenticated")


def body(**values):
    return {"name": "Anna", "domain": OFFICE, "expires_at": in_hours(4), **values}


def code(response):
    return response.status_code, response.json()["code"]


def test_a_link_is_shown_once_and_stored_as_a_digest(admin, office):
    made = admin.post("/share-links", body())
    shown = admin.get(f"/share-links/{made.json()['id']}").json()

    assert made.status_code == 201
    link = made.json()["link"]
    assert link.startswith(f"https://{OFFICE}/wall/share?token={shown['prefix']}")
    assert (shown["methods"], shown["max_uses"], shown["uses"], shown["hits"]) == (["GET", "HEAD"], 1, 0, 0)
    secret = link.partition("=")[2]
    for kept in (str(ShareLink.objects.values().get()), str(PolicyRevision.objects.values()), str(shown)):
        assert secret not in kept
    assert "share-link.created" in SecurityEvent.objects.values_list("kind", flat=True)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"name": ""}, "name"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": in_hours(24 * 31)}, "expires_at"),
        ({"domain": "unknown.example"}, "domain"),
        ({"domain": "*.wild.example"}, "domain"),
        ({"path_prefix": "photos"}, "path_prefix"),
        ({"methods": ["G T"]}, "methods"),
        ({"max_uses": 0}, "max_uses"),
        ({"max_uses": 101}, "max_uses"),
    ],
)
def test_an_invalid_link_is_refused(admin, office, sent, field):
    services.register_domain(actor="alice", name="*.wild.example", access="authenticated")

    refused = admin.post("/share-links", body(**sent))

    assert refused.status_code == 400
    assert [error["field"].partition(".")[0] for error in refused.json()["errors"]] == [field]
    assert not ShareLink.objects.exists()


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ("denied", "is denied, which overrides every grant"),
        ("phishing_resistant", "asks for a passkey, which a guest does not have"),
    ],
)
def test_a_link_that_the_domain_overrules_is_refused_with_the_reason(admin, office, access, words):
    link = admin.post("/share-links", body()).json()["id"]
    services.change_domain(office, actor="alice", access=access)

    refused = admin.post("/share-links", body())

    assert code(refused) == (409, "grant-overruled")
    assert f"{OFFICE} {words}" in refused.json()["detail"]
    assert code(admin.put(f"/share-links/{link}", {"domain": OFFICE})) == (409, "grant-overruled")


def test_the_maximum_is_refused_unless_one_has_ended(admin, office):
    ends = timezone.now() + timedelta(hours=1)
    ShareLink.objects.bulk_create(
        ShareLink(name="x", domain=office, digest=f"{number:064}", expires_at=ends) for number in range(MAX_SHARE_LINKS)
    )

    refused = admin.post("/share-links", body())
    assert code(refused) == (409, "too-many-share-links")
    assert "1,000" in refused.json()["detail"]

    ShareLink.objects.filter(pk=ShareLink.objects.first().pk).update(expires_at=timezone.now())
    assert admin.post("/share-links", body()).status_code == 201
    assert ShareLink.objects.count() == MAX_SHARE_LINKS


def test_only_admins_and_only_after_a_fresh_sign_in(admin, bob, wall, office):
    assert wall.Api(wall.a_token(bob)).post("/share-links", body()).status_code == 403
    old = wall.Api(wall.a_token(admin_of(admin), at=timezone.now() - timedelta(minutes=11)))
    assert code(old.post("/share-links", body())) == (403, "reauthentication-required")


def admin_of(admin):
    from accounts.models import User  # noqa: PLC0415 - needs Django

    return User.objects.get(username="alice")


def test_change_and_deletion_take_effect_at_once(admin, auth, office):
    made = admin.post("/share-links", body(path_prefix="/photos")).json()
    ask = a_guest_of(auth, ShareLink.objects.get())
    assert ask("/photos/7") == (200, "share-link-valid")
    assert ask("/") == (403, "host-not-in-scope")

    changed = admin.put(f"/share-links/{made['id']}", {"path_prefix": None, "name": "Anna and Tom"})
    assert (changed.status_code, changed.json()["name"]) == (200, "Anna and Tom")
    assert "link" not in changed.json()
    assert ask("/") == (200, "share-link-valid")

    assert admin.delete(f"/share-links/{made['id']}").status_code == 204
    assert ask("/photos/7") == (401, "credential-invalid")
    assert "share-link.deleted" in SecurityEvent.objects.values_list("kind", flat=True)


def test_no_restore_brings_a_revoked_link_back(admin, auth, office):
    made = admin.post("/share-links", body()).json()["id"]
    ask = a_guest_of(auth, ShareLink.objects.get())
    number = PolicyRevision.objects.latest("number").number
    admin.delete(f"/share-links/{made}")

    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200

    assert not ShareLink.objects.exists()
    assert ask("/") == (401, "credential-invalid")


def test_deleting_the_domain_deletes_the_link_in_the_same_revision(admin, office):
    admin.post("/share-links", body())

    services.remove_domain(AuthorizedDomain.objects.get(), actor="alice", force=True)

    assert "share-links" in PolicyRevision.objects.latest("number").resources
    assert not ShareLink.objects.exists()


def test_a_link_and_the_log_show_its_uses_and_a_backtest_accepts_its_deletion(admin, auth, log, visits, office):
    made = admin.post("/share-links", body()).json()["id"]
    link = ShareLink.objects.get()
    cookie = a_guest_of(auth, link).cookie
    decision = visits(cookie=cookie, x_forwarded_host=OFFICE, x_forwarded_uri="/album", user_agent="Firefox/1 Linux")

    shown = admin.get(f"/share-links/{made}").json()
    assert (shown["hits"], shown["last_used_by"]) == (1, "Firefox, Linux")
    row = admin.get("/access-logs", {"subject": f"guest:{made}"}).json()["results"][0]
    assert (row["reason"], row["subject"]) == ("share-link-valid", {"kind": "guest", "id": made, "name": ""})
    assert row["credential"]["kind"] == "guest-cookie"
    entry = admin.get(f"/access-logs/{decision}", {"revision": PolicyRevision.objects.latest("number").number}).json()
    assert entry["decision_id"] == decision

    asked = {"client_ip": "198.51.100.7", "host": OFFICE, "method": "GET", "uri": "/", "scheme": "https"}
    explained = admin.post("/policy/explain", {**asked, "credential": {"kind": "guest", "id": made}}).json()
    assert explained["decision"]["reason"] == "share-link-valid"
    explained = admin.post("/policy/explain", {**asked, "method": "POST", "credential": {"kind": "guest", "id": made}})
    assert explained.json()["decision"]["reason"] == "host-not-in-scope"

    window = {"start_time": in_hours(-1), "end_time": in_hours(1)}
    proposal = {"resource": "share-links", "change": "delete", "id": made, **window}
    assert admin.post("/policy/backtest", proposal).status_code in {200, 201, 202}
    assert ShareLink.objects.exists()


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"name": "Anna"}, 1),
        ({"domain": OFFICE}, 1),
        ({"path_prefix": "/photos"}, 0),
        ({"expires_at_after": "2090-01-01T00:00:00Z"}, 0),
        ({"search": "ann"}, 1),
    ],
)
def test_filters_find_a_link(admin, office, query, number):
    admin.post("/share-links", body())

    assert admin.get("/share-links", query).json()["count"] == number
