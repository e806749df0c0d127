"""Device passes over the API and on the account page: owner, address, and the reasons of refusals."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services as accounts
from audit.storage import ingest
from gatewall.models import PolicyRevision
from policies import services
from policies.grant_limits import MAX_DEVICE_PASSES_OF_A_USER
from policies.models import AuthorizedDomain, DevicePass
from tests.support.cast import OFFICE
from tests.support.moments import in_hours
from tests.support.records import a_record
from tests.support.visitor import Visitor, words

pytestmark = pytest.mark.django_db
HOME = "203.0.113.7"


@pytest.fixture
def office(admin):
    return services.register_domain(actor="alice", name=OFFICE, access="authenticated")


@pytest.fixture
def own(bob, office, wall):
    """Return a client of the API that is signed in as Bob, at home."""
    return wall.Api(wall.a_token(bob), X_Forwarded_For=HOME)


@pytest.fixture
def path(bob):
    return f"/users/{bob.pk}/device-passes"


@pytest.fixture
def program(auth):
    """Return a function that asks the gate without a credential, as a program at Bob's home."""

    def ask(agent="Jellyfin/10.8", client=HOME):
        return auth(x_forwarded_for=client, x_forwarded_host=OFFICE, user_agent=agent).verdict

    return ask


def body(**values):
    return {"domain": OFFICE, "program": "Jellyfin", "expires_at": in_hours(8), **values}


def code(response):
    return response.status_code, response.json()["code"]


def test_a_pass_lets_the_program_in_at_once_until_it_is_deleted(own, path, program):
    assert program() == (401, "credential-missing")

    made = own.post(path, body())

    assert made.status_code == 201, made.json()
    assert (made.json()["address"], made.json()["hits"]) == (HOME, 0)
    assert program() == (200, "device-pass-valid")
    assert program(agent="Kodi/20") == (401, "credential-missing")
    assert program(client="203.0.113.8") == (401, "credential-missing")
    assert own.post(path, body(expires_at=in_hours(1))).status_code == 201  # replaces the first
    assert own.delete(f"{path}/{DevicePass.objects.get().pk}").status_code == 204
    assert program() == (401, "credential-missing")


def test_the_account_page_creates_and_revokes_passes_for_refused_programs(own, program, settings):
    program()
    program(agent="<b>")
    ingest.ship(settings.GATEWALL_HOME / "spool")
    visitor = Visitor(X_Forwarded_For=HOME)
    visitor.sign_in()
    assert "/wall/account/devices" in visitor.get("/account").text
    page = words(visitor.get("/account/devices"))
    assert f"Jellyfin: {OFFICE}" in page
    assert HOME in page

    chosen = {"domain": OFFICE, "program": "Jellyfin"}
    assert visitor.send("/account/devices", **chosen, hours="99").status_code == 400
    assert visitor.send("/account/devices", **chosen, hours="8").status_code == 303
    assert program() == (200, "device-pass-valid")
    page = words(visitor.get("/account/devices"))
    assert "Let in now" in page
    assert f"Jellyfin: {OFFICE}" not in page

    row = DevicePass.objects.get()
    assert visitor.send("/account/devices/take-back", id=str(row.pk)).status_code == 303
    assert program() == (401, "credential-missing")
    assert visitor.send("/account/devices/take-back", id=str(row.pk)).status_code == 404


def test_a_pass_ends_with_the_access_of_its_user_and_is_deleted_with_them(own, path, program, bob):
    own.post(path, body())
    accounts.change_user(bob, actor="alice", all_domains=False)
    assert program() == (401, "credential-missing")

    accounts.delete_user(bob, actor="alice")
    assert "users/device-passes" in PolicyRevision.objects.latest("number").resources
    assert not DevicePass.objects.exists()


def test_deleting_the_domain_records_its_passes_in_the_revision(own, path):
    own.post(path, body())

    services.remove_domain(AuthorizedDomain.objects.get(), actor="alice", force=True)

    assert "users/device-passes" in PolicyRevision.objects.latest("number").resources


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"expires_at": in_hours(25)}, "expires_at"),
        ({"expires_at": in_hours(-1)}, "expires_at"),
        ({"program": " "}, "program"),
        ({"program": "Kodi/20.2"}, "program"),
        ({"program": "Mozilla"}, "program"),
        ({"domain": "unknown.example"}, "domain"),
    ],
)
def test_an_invalid_pass_is_refused(own, path, sent, field):
    refused = own.post(path, body(**sent))

    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ("denied", "which overrides every grant"),
        ("two_factor", "asks for a second factor or a passkey, which a program cannot prove"),
        ("phishing_resistant", "asks for a second factor or a passkey, which a program cannot prove"),
    ],
)
def test_a_pass_that_the_domain_overrules_is_refused_with_the_reason(own, path, office, access, words):
    services.change_domain(office, actor="alice", access=access)

    refused = own.post(path, body())

    assert code(refused) == (409, "grant-overruled")
    assert words in refused.json()["detail"]


def test_a_site_that_the_user_may_not_enter_is_refused(own, path, bob):
    accounts.change_user(bob, actor="alice", all_domains=False)

    refused = own.post(path, body())

    assert code(refused) == (409, "grant-overruled")
    assert f"you may not enter {OFFICE} yourself" in refused.json()["detail"]


def test_a_pass_for_a_carrier_nat_address_is_refused_with_the_reason(bob, office, wall, path):
    mobile = wall.Api(wall.a_token(bob), X_Forwarded_For="100.64.3.9")

    refused = mobile.post(path, body())

    assert code(refused) == (409, "address-shared")
    assert "100.64.3.9 is shared by customers of a carrier" in refused.json()["detail"]


def of(kind, id_, name):
    return {"kind": kind, "id": id_, "name": name}


@pytest.mark.parametrize(
    ("subject", "is_shared"),
    [
        (of("user", 999, "zoe"), True),
        (of("app-token", 3, "zoe"), True),
        (of("guest", 3, ""), True),
        (of("app-token", 3, "Bob"), False),
        (of("license", 3, ""), False),
        (None, False),
    ],
    ids=str,
)
def test_a_pass_for_an_address_shared_with_other_users_is_refused(own, path, log, subject, is_shared):
    log(a_record(1, at=timezone.now().timestamp() - 60, client_ip=HOME, subject=subject))

    answer = own.post(path, body())

    assert answer.status_code == (409 if is_shared else 201)
    if is_shared:
        assert code(answer) == (409, "address-shared")
        assert f"other people used {HOME} in the last 7 days" in answer.json()["detail"]


def test_no_user_creates_a_pass_for_another(admin, path, office):
    assert code(admin.post(path, body())) == (403, "not-allowed")


def test_a_user_has_at_most_twenty(own, path, bob, office):
    ends = timezone.now() + timedelta(hours=1)
    DevicePass.objects.bulk_create(
        DevicePass(user=bob, domain=office, address=HOME, program=f"p{number}", expires_at=ends)
        for number in range(MAX_DEVICE_PASSES_OF_A_USER)
    )

    assert code(own.post(path, body())) == (409, "too-many-device-passes")
    DevicePass.objects.filter(pk=DevicePass.objects.first().pk).update(expires_at=timezone.now())
    assert own.post(path, body()).status_code == 201


def test_the_log_names_the_device_pass(own, path, visits, admin):
    made = own.post(path, body()).json()
    visits(x_forwarded_for=HOME, x_forwarded_host=OFFICE, user_agent="Jellyfin/10.8")

    named = {"kind": "users/device-passes", "id": made["id"]}
    [row] = admin.get("/access-logs", {"grant": f"users/device-passes:{made['id']}"}).json()["results"]
    assert (row["reason"], row["credential"], row["grant"]) == ("device-pass-valid", None, named)
    asked = {"client_ip": HOME, "host": OFFICE, "method": "GET", "uri": "/", "headers": {"User-Agent": "Jellyfin/10.8"}}
    assert admin.post("/policy/explain", asked).json()["decision"]["grant"] == named
    assert own.get(f"{path}/{made['id']}").json()["hits"] == 1
