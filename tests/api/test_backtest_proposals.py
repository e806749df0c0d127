"""Proposals of ``/policy/backtest`` over HTTP: settings, lists of changes and restores."""

import pytest
from django.utils import timezone

from gatewall.policy import revisions
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.models import AuthorizedDomain
from tests.support.cast import CLIENT

pytestmark = pytest.mark.django_db

PATH = "/policy/backtest"
BLOCK = {"resource": "ip-black-list", "values": {"ip": CLIENT}}
NEW_DOMAIN = {"resource": "authorized-domains", "values": {"name": "new.example"}}
RULE_THERE = {"resource": "access-rules", "values": {"name": "x", "access": "denied", "domains": ["new.example"]}}


def test_settings_are_a_draft_without_an_id(admin):
    asked = admin.post(PATH, {"resource": "system/settings", "values": {"waf_threshold": 9}})
    shown = asked.json()

    assert asked.status_code == 201
    assert (shown["kind"], shown["resource"], shown["changes"], shown["restore"]) == (
        "row",
        "system/settings",
        None,
        None,
    )
    assert shown["draft"] == {"change": "update", "id": None, "values": {"waf_threshold": 9}, "force": False}
    assert running.run(runs.claim_next(timezone.now()))


def test_a_later_change_may_name_a_row_that_an_earlier_one_creates(admin):
    asked = admin.post(PATH, {"changes": [NEW_DOMAIN, RULE_THERE]})
    shown = asked.json()

    assert asked.status_code == 201
    assert (shown["kind"], shown["resource"], shown["draft"]) == ("changes", None, None)
    assert shown["changes"] == [{**each, "change": "create", "id": None} for each in (NEW_DOMAIN, RULE_THERE)]
    assert running.run(runs.claim_next(timezone.now()))
    assert not AuthorizedDomain.objects.exists()


def test_a_restore_names_its_revision(admin):
    services.block_network(actor="", network=CLIENT)
    number = revisions.current().revision

    shown = admin.post(PATH, {"restore": number}).json()

    assert (shown["kind"], shown["restore"], shown["draft"]) == ("restore", number, None)
    assert running.run(runs.claim_next(timezone.now()))


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({**BLOCK, "changes": [BLOCK]}, {"changes"}),
        ({"changes": [BLOCK], "restore": 1, "id": 5}, {"restore"}),
        ({"changes": [BLOCK], "id": 5}, {"id"}),
        ({"changes": []}, {"changes"}),
        ({"changes": [BLOCK] * 101}, {"changes"}),
        ({"changes": [BLOCK, {**BLOCK, "more": 1}]}, {"changes.1.more"}),
        ({"changes": [{"values": {}}, {**BLOCK, "id": 3}]}, {"changes.0.resource", "changes.1.id"}),
        ({"changes": [BLOCK, {"resource": "ip-black-list", "values": {"ip": "x"}}]}, {"changes.1.values.ip"}),
        ({"changes": [RULE_THERE, NEW_DOMAIN]}, {"changes.0.values.domains"}),
        ({"changes": [{**BLOCK, "change": "update", "id": 999}]}, {"changes.0.id"}),
        ({"restore": 999}, {"restore"}),
        ({"restore": "1"}, {"restore"}),
        ({"resource": "system/settings", "id": 1, "values": {}}, {"id"}),
        ({"resource": "system/settings", "change": "delete"}, {"change"}),
        ({"resource": "system/settings", "values": {"waf_threshold": 0}}, {"values.waf_threshold"}),
    ],
)
def test_a_proposal_that_makes_no_sense_is_refused(admin, body, fields):
    if isinstance(body.get("restore"), int) and body["restore"] == 1:
        services.block_network(actor="", network="192.0.2.9")
    refused = admin.post(PATH, body)

    assert refused.status_code == 400, refused.json()
    found = {error["field"] for error in refused.json()["errors"]}
    assert all(any(each == field or each.startswith(f"{field}.") for each in found) for field in fields), found
    assert not Backtest.objects.exists()


def test_a_conflicting_change_is_named_by_its_index(admin):
    refused = admin.post(PATH, {"changes": [BLOCK, BLOCK]})

    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate")
    assert refused.json()["detail"].startswith("changes.1: ")
