"""A domain's own identity headers: in the API, on both planes, and in the policy document."""

import pytest

from gatewall.engine.identity_headers import DEFAULT_HEADERS
from policies import services
from policies.models import AuthorizedDomain
from tests.support.cast import OFFICE
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db


def test_chosen_names_reach_the_site_in_every_dialect(both, visit, bob):
    domain = services.register_domain(actor="alice", name=OFFICE, access="authenticated")
    question = visit().plus(("Service-Authorization", a_token(bob)), ("X-Webauth-User", "admin"))
    assert both(question).headers["remote-user"] == "Bob"

    services.change_domain(domain, actor="alice", identity_headers=["X-Webauth-User"])

    answer = both(question)
    assert (answer.headers["x-webauth-user"], answer.headers["remote-user"]) == ("Bob", "")


def test_api_takes_known_names_once_and_keeps_what_is_not_sent(admin):
    path = f"/authorized-domains/{admin.post('/authorized-domains', {'name': OFFICE}).json()['id']}"
    names = ["X-Remote-User", "X-Remote-User", "Remote-Groups"]

    changed = admin.put(path, {"identity_headers": names}).json()
    kept = admin.put(path, {"remark": "x"}).json()

    assert changed["identity_headers"] == kept["identity_headers"] == ["X-Remote-User", "Remote-Groups"]


@pytest.mark.parametrize("names", ["Remote-User", [1], ["Host"], ["remote-user"], [""], [None], None, ["X" * 9999]])
def test_api_refuses_other_names(admin, names):
    answer = admin.post("/authorized-domains", {"name": OFFICE, "identity_headers": names})

    assert (answer.status_code, answer.json()["errors"][0]["field"].partition(".")[0]) == (400, "identity_headers")
    assert not AuthorizedDomain.objects.exists()


def test_new_domain_has_the_default_names(admin):
    assert admin.post("/authorized-domains", {"name": OFFICE}).json()["identity_headers"] == list(DEFAULT_HEADERS)
