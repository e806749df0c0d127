"""Device passes: which program at which address they let in, and that they end by time or with their user."""

from dataclasses import replace

import pytest

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.device_passes import DevicePass, DevicePassTable
from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Access
from gatewall.engine.model import Reason, SubjectKind
from gatewall.gate.identity import identity_headers
from gatewall.gate.subrequest import auth
from tests.support.cast import (
    BOB,
    CHARLIE,
    HOUR,
    NOW,
    OFFICE,
    TRUSTED,
    USERS,
    a_credential_check,
    a_policy,
    a_ports,
    a_session_token,
    a_subrequest,
)
from tests.unit.rule_facts import SHOP

PASS = DevicePass(61, BOB.id, SHOP, "198.51.100.7", "Jellyfin", NOW + HOUR)
OWNER, NOT_OWNER = (AccessRule(8, "x", Access.DENIED, users=frozenset({user.id})) for user in (BOB, CHARLIE))
NO_DEVICE = AccessRule(9, "x", Access.DENIED, credential_kinds=frozenset({"device"}))


def decide(*, passes=(PASS,), client="198.51.100.7", agent="Jellyfin/10.8.1", access="authenticated", **parts):
    """Return the decision about a request by this program to the shop without a credential."""
    headers = {
        **({"x_forwarded_for": client} if client else {}),
        "x_forwarded_host": parts.pop("host", SHOP),
        "x_forwarded_method": "GET",
        "x_forwarded_uri": "/",
        "user_agent": agent,
        **parts.pop("sent", {}),
    }
    domains = {OFFICE: "authenticated", SHOP: access}
    request = auth(a_subrequest(**headers), TRUSTED, parts.pop("at", NOW))
    policy = a_policy(domains=domains, device_passes=passes, **parts)
    return evaluate(request, policy, a_ports(credentials=a_credential_check()))


def test_a_program_with_a_device_pass_is_let_in_without_a_name():
    decision = decide()

    subject = decision.subject
    assert (decision.reason, subject.kind, subject.id) == (Reason.DEVICE_PASS_VALID, SubjectKind.DEVICE, 61)
    assert dict(identity_headers(decision)) == {
        "Remote-User": "",
        "Remote-Email": "",
        "Remote-Groups": "",
        "X-Gatewall-Subject-Kind": "device",
    }


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"passes": ()}, Reason.CREDENTIAL_MISSING),
        ({"at": NOW + HOUR - 0.001}, Reason.DEVICE_PASS_VALID),
        ({"at": NOW + HOUR}, Reason.CREDENTIAL_MISSING),
        ({"agent": "Kodi/20"}, Reason.CREDENTIAL_MISSING),
        ({"agent": ""}, Reason.CREDENTIAL_MISSING),
        ({"client": "198.51.100.8"}, Reason.CREDENTIAL_MISSING),
        ({"client": "::ffff:198.51.100.7"}, Reason.DEVICE_PASS_VALID),
        ({"client": "", "passes": (replace(PASS, address="10.0.0.1"),)}, Reason.CREDENTIAL_MISSING),
        ({"host": OFFICE}, Reason.CREDENTIAL_MISSING),
        ({"host": "unknown.example"}, Reason.CREDENTIAL_MISSING),
        ({"users": [replace(BOB, is_active=False)]}, Reason.CREDENTIAL_MISSING),
        ({"users": []}, Reason.CREDENTIAL_MISSING),
        ({"users": [replace(BOB, all_domains=False)]}, Reason.CREDENTIAL_MISSING),
        ({"users": [replace(BOB, all_domains=False, domains=frozenset({SHOP}))]}, Reason.DEVICE_PASS_VALID),
        ({"users": [replace(BOB, all_domains=False, is_admin=True)]}, Reason.DEVICE_PASS_VALID),
        ({"sent": {"cookie": "service.token=x"}}, Reason.DEVICE_PASS_VALID),
        ({"sent": {"cookie": f"service.token={a_session_token(BOB)}"}}, Reason.SESSION_VALID),
        ({"access": "denied"}, Reason.HOST_NOT_AUTHORIZED),
        ({"access": "two_factor"}, Reason.SECOND_FACTOR_REQUIRED),
        ({"access": "phishing_resistant"}, Reason.PHISHING_RESISTANT_REQUIRED),
        ({"blocked": ["198.51.100.7"]}, Reason.CLIENT_BLOCKED),
        ({"access_rules": [OWNER]}, Reason.ACCESS_DENIED),
        ({"access_rules": [NOT_OWNER]}, Reason.DEVICE_PASS_VALID),
        ({"access_rules": [NO_DEVICE]}, Reason.ACCESS_DENIED),
    ],
)
def test_a_device_pass_lets_in_its_program_unless_another_step_decides(parts, reason):
    assert decide(**{"users": USERS, **parts}).reason is reason


def test_tables_of_equal_passes_are_equal():
    assert DevicePassTable([PASS]) == DevicePassTable([PASS])
    assert DevicePassTable([PASS]) != DevicePassTable()
    assert DevicePassTable() != "passes"
    assert not DevicePassTable().has_any
