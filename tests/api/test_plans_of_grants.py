"""Plans that remove temporary access: the subjects that lose access, and the rows deleted with a domain."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services as accounts
from gatewall.engine.addresses import parse_address
from gatewall.whatif.backtest import running, runs
from policies.grants.device_passes import create_device_pass
from policies.grants.services import create_grant
from tests.support.cast import OFFICE
from tests.support.proxies import an_api_token, with_api_token
from tests.support.share_links import a_share_link, cookie_of

pytestmark = pytest.mark.django_db

HOME = "203.0.113.7"
LOSERS = {"grants": "user", "share-links": "guest", "users/device-passes": "device"}
"""The kind of the subject that loses access, by resource."""


@pytest.fixture
def given(alice, bob, office, visits, wall):
    """Create a grant, a share link and a device pass, each used once; return their ids by resource."""
    accounts.change_user(bob, actor="alice", all_domains=False)
    ends = timezone.now() + timedelta(hours=1)
    grant = create_grant(actor="alice", user=bob, domain=office, expires_at=ends)
    link = a_share_link(office)
    device = create_device_pass(user=alice, domain=office, address=parse_address(HOME), program="Kodi", expires_at=ends)
    for sent in (
        {"service_authorization": wall.a_token(bob)},
        {"cookie": cookie_of(link)},
        {"user_agent": "Kodi/20"},
    ):
        visits(x_forwarded_for=HOME, x_forwarded_host=OFFICE, x_forwarded_method="GET", x_forwarded_uri="/", **sent)
    return {"grants": grant.pk, "share-links": link.pk, "users/device-passes": device.pk}


def planned(admin, resource, row_id, **more):
    """Return the finished plan of the removal of a row."""
    made = admin.post("/policy/plan", {"resource": resource, "change": "delete", "id": row_id, **more})
    assert made.status_code == 201, made.json()
    assert running.run(runs.claim_next(timezone.now()))
    return admin.get(f"/policy/plan/{made.json()['id']}").json()


@pytest.mark.parametrize("resource", LOSERS)
def test_a_plan_names_the_subject_that_loses_access(admin, given, resource):
    plan = planned(admin, resource, given[resource])

    assert [(each["resource"], each["action"]) for each in plan["changes"]] == [(resource, "deleted")]
    (loser,) = plan["replay"]["people"]
    assert (loser["subject"]["kind"], loser["host"], loser["loses"]) == (LOSERS[resource], OFFICE, True)
    assert plan["replay"]["undecidable"]["total"] == 0
    applied = admin.post("/policy/apply", {"digest": plan["digest"]})
    assert [each["name"] for each in applied.json()["changes"]] == [each["name"] for each in plan["changes"]]


def test_a_plan_to_delete_a_domain_lists_the_rows_deleted_with_it(admin, given, office):
    plan = planned(admin, "authorized-domains", office.pk, force=True)

    gone = {each["resource"] for each in plan["changes"] if each["action"] == "deleted"}
    assert gone == {"authorized-domains", *LOSERS}
    assert {each["subject"]["kind"] for each in plan["replay"]["people"] if each["loses"]} == {*LOSERS.values()}


def test_removing_a_device_pass_requires_the_users_write_scope(admin, alice, given):
    digest = planned(admin, "users/device-passes", given["users/device-passes"])["digest"]
    for scopes, status in (["policy:write"], 403), (["policy:write", "users:write"], 200):
        machine = with_api_token(an_api_token(alice, *scopes, name=f"ci {status}"))
        assert machine.post("/policy/apply", {"digest": digest}).status_code == status


def test_a_draft_makes_no_device_pass_and_changes_none(admin, given):
    for change, row_id in (("create", None), ("update", given["users/device-passes"])):
        draft = {"resource": "users/device-passes", "change": change, "id": row_id, "values": {}}
        assert admin.post("/policy/plan", draft).status_code == 400
