"""ETags: every answer with one object has one, and writes may be conditional on it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from accounts import services
from gatewall.api.etags import tag_of
from gatewall.policy import system_settings
from policies.models import BlocklistEntry
from tests.api.resources import CHANGEABLE, KINDS, fields_refused, make
from tests.support.proxies import Api, a_token, a_user

ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)
CHANGEABLE_KINDS = pytest.mark.parametrize("kind", CHANGEABLE, ids=str)
SETTINGS = "/system/settings"


def there(admin, kind):
    """Return the path of a new row and its ETag."""
    path = f"{kind.path}/{make(admin, kind)[0]['id']}"
    return path, admin.get(path).headers["ETag"]


@pytest.mark.django_db
@ALL_KINDS
def test_creating_and_showing_return_the_same_strong_etag(admin, kind):
    created = admin.post(kind.path, kind.body(0))
    shown = admin.get(created.headers["Location"].removeprefix("/wall"))

    assert created.headers["ETag"] == shown.headers["ETag"]
    assert shown.headers["ETag"].startswith('"')
    assert shown.headers["ETag"].endswith('"')


@pytest.mark.django_db
@CHANGEABLE_KINDS
def test_a_change_returns_the_new_etag(admin, kind):
    path, before = there(admin, kind)

    changed = admin.put(path, kind.change, headers={"If-Match": before})

    assert changed.status_code == 200
    assert changed.headers["ETag"] == admin.get(path).headers["ETag"] != before


@pytest.mark.django_db
@CHANGEABLE_KINDS
def test_a_change_with_a_stale_etag_is_refused(admin, kind):
    path, tag = there(admin, kind)
    before = admin.get(path).json()

    for condition in ('"other"', 'W/{tag}, "other"', "", '"', ", ,", '"{inner}', "{inner}"):
        response = admin.put(path, kind.change, headers={"If-Match": condition.format(tag=tag, inner=tag.strip('"'))})

        assert response.status_code in {400, 412}, condition
        assert response.json()["code"] == ("stale" if response.status_code == 412 else "invalid"), condition
    assert admin.get(path).json() == before


@pytest.mark.django_db
@ALL_KINDS
def test_a_deletion_with_a_stale_etag_is_refused(admin, kind):
    path, tag = there(admin, kind)

    assert admin.delete(path, headers={"If-Match": '"other"'}).status_code == 412
    assert admin.get(path).headers["ETag"] == tag
    assert admin.delete(path, headers={"If-Match": tag}).status_code == 204
    assert admin.delete(path, headers={"If-Match": tag}).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("condition", ["*", " * ", "{tag}", '"a", {tag}', ',{tag} , "b"', 'W/"a",{tag}', '"a"\n{tag}'])
def test_a_matching_if_match_permits_the_change(admin, condition):
    kind = KINDS[1]
    path, tag = there(admin, kind)

    assert admin.put(path, kind.change, headers={"If-Match": condition.format(tag=tag)}).status_code == 200


@pytest.mark.django_db
def test_a_malformed_etag_condition_is_refused(admin):
    kind = KINDS[1]
    path, _ = there(admin, kind)

    for condition in ("", "x", '"', '"a" "b"', '"a"b', "W/", 'w/"a"', '*, "a"', '"a\nb"', '"\x7f"'):
        assert fields_refused(admin.put(path, kind.change, headers={"If-Match": condition})) == {"If-Match"}, condition
        assert fields_refused(admin.delete(path, headers={"If-Match": condition})) == {"If-Match"}, condition
    assert admin.get(path).json()["remark"] != "changed"


@pytest.mark.django_db
def test_a_stale_etag_is_reported_before_an_invalid_body(admin):
    path, _ = there(admin, KINDS[1])

    assert admin.put(path, {"colour": "red"}, headers={"If-Match": '"other"'}).json()["code"] == "stale"


@pytest.mark.django_db
def test_if_none_match_refuses_writes_of_existing_objects(admin):
    path, tag = there(admin, KINDS[1])

    for condition in ("*", tag):
        assert admin.put(path, {"remark": "x"}, headers={"If-None-Match": condition}).status_code == 412
        assert admin.delete(path, headers={"If-None-Match": condition}).status_code == 412


@pytest.mark.django_db
@ALL_KINDS
def test_a_matching_etag_gets_not_modified(admin, kind):
    path, tag = there(admin, kind)

    for condition in ("{tag}", "*", "W/{tag}", '"a", {tag}'):
        response = admin.get(path, headers={"If-None-Match": condition.format(tag=tag)})

        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", tag), condition


@pytest.mark.django_db
@pytest.mark.parametrize("condition", ['"other"', "", "garbage", '"'])
def test_a_different_etag_gets_the_object(admin, condition):
    path, _ = there(admin, KINDS[0])

    assert admin.get(path, headers={"If-None-Match": condition}).status_code == 200


@pytest.mark.django_db
def test_a_sign_in_changes_the_representation_but_makes_no_write_stale(admin):
    """The ETag of a user is strong, but a sign-in between reading and writing must not make the write stale."""
    bob = a_user("Bob")
    read = admin.get(f"/users/{bob.pk}")
    a_token(bob)

    assert admin.get(f"/users/{bob.pk}", headers={"If-None-Match": read.headers["ETag"]}).status_code == 200
    assert admin.put(f"/users/{bob.pk}", read.json(), headers={"If-Match": read.headers["ETag"]}).status_code == 200
    services.change_user(bob, actor="cast", remark="somebody was here")
    response = admin.put(f"/users/{bob.pk}", {"email": ""}, headers={"If-Match": read.headers["ETag"]})
    assert response.status_code == 412


@pytest.mark.django_db
def test_the_system_settings_have_a_tag_too(admin):
    tag = admin.get(SETTINGS).headers["ETag"]

    assert admin.get(SETTINGS, headers={"If-None-Match": tag}).status_code == 304
    changed = admin.put(SETTINGS, {"waf_threshold": 9}, headers={"If-Match": tag})
    assert (changed.status_code, changed.headers["ETag"]) == (200, admin.get(SETTINGS).headers["ETag"])
    assert admin.put(SETTINGS, {"waf_threshold": 3}, headers={"If-Match": tag}).status_code == 412
    assert system_settings.current().waf_threshold == 9


@pytest.mark.django_db
def test_the_browsable_page_has_no_tag(admin):
    path, _ = there(admin, KINDS[1])

    assert "ETag" not in admin.get(path, headers={"Accept": "text/html"}).headers


def test_volatile_fields_have_their_own_part_of_the_etag():
    one, other = (tag_of({"name": "a", "hits": hits}, ("hits",)) for hits in (1, 2))

    assert one != other
    assert one.partition(".")[0] == other.partition(".")[0]


def at_once(calls):
    """Make all calls concurrently, each on its own connection; return their statuses."""
    start = Barrier(len(calls))

    def go(call):
        start.wait()
        try:
            return call().status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return sorted(pool.map(go, calls))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_", range(3))
def test_of_two_writes_with_the_same_tag_one_is_stale(alice, round_):
    token = a_token(alice)
    path, tag = there(Api(token), KINDS[1])
    clients = [Api(token, **{"If-Match": tag}) for _ in range(2)]

    statuses = at_once(
        [lambda client=client, n=n: client.put(path, {"remark": f"writer {n}"}) for n, client in enumerate(clients)]
    )

    assert statuses == [200, 412]


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_of_settings_with_the_same_tag_one_is_stale(alice):
    token = a_token(alice)
    tag = Api(token).get(SETTINGS).headers["ETag"]
    clients = [Api(token, **{"If-Match": tag}) for _ in range(2)]

    statuses = at_once(
        [lambda client=client, n=n: client.put(SETTINGS, {"waf_threshold": 7 + n}) for n, client in enumerate(clients)]
    )

    assert statuses == [200, 412]


@pytest.mark.django_db(transaction=True)
def test_a_deletion_and_a_change_with_the_same_tag_are_not_both_done(alice):
    token = a_token(alice)
    path, tag = there(Api(token), KINDS[1])
    one, other = (Api(token, **{"If-Match": tag}) for _ in range(2))

    statuses = at_once([lambda: one.put(path, {"remark": "kept"}), lambda: other.delete(path)])

    assert statuses in ([200, 412], [204, 404], [204, 412])
    assert BlocklistEntry.objects.filter(remark="kept").exists() is (statuses[0] == 200)
