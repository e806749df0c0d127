"""Requests as the gate records them, and the means to replay them."""

from gatewall.engine.waf.rules import Target
from gatewall.gate.gate import Dialect, Gate
from gatewall.gate.headers import from_lines
from gatewall.gate.responses import GuardPage
from gatewall.gate.subrequest import Subrequest, auth
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.redecision import Redecider
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    CHARLIE,
    NOW,
    OFFICE,
    OFFICE_LICENSE,
    OPEN_LICENSE,
    TRUSTED,
    a_credential_check,
    a_ports,
    a_rule,
    a_session_token,
)
from tests.support.ports import Countries
from tests.support.records import Records

DOMAINS = {OFFICE: "authenticated", "open.example": "public", "vault.example": "two_factor", "shut.example": "denied"}
CREDENTIALS = {
    "bob": ("service-authorization", a_session_token(BOB)),
    "charlie": ("service-authorization", a_session_token(CHARLIE, amr=["pwd", "otp"])),
    "late": ("cookie", f"a=attack; service.token={a_session_token(BOB, exp=int(NOW) - 1)}"),
    "forged": ("service-authorization", "x.y.z"),
    "git": ("service-git-token", f"Bob:{BOBS_GIT_TOKEN}"),
    "stranger": ("service-git-token", f"charlie:{BOBS_GIT_TOKEN}"),
    "open": ("service-license", OPEN_LICENSE),
    "office": ("service-license", OFFICE_LICENSE),
}
UNCHANGED = ChangeHistory(known_from=0, newest=1)
ALL_CHANGED = ChangeHistory(known_from=2, newest=2)


def a_rule_for(target, pattern="attack", **parts):
    return a_rule(pattern, targets=(Target(target),), **parts)


class Policies:
    def __init__(self, policy):
        self.policy = policy

    def current(self):
        return self.policy


def recorded(lines, policy, *, over=0, peer="", body=None):
    """Return the record that the gate writes when a proxy sends these lines."""
    records = Records()
    ports = a_ports(country="DE", credentials=a_credential_check(), over_seconds=over)
    gate = Gate(Policies(policy), ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=records)
    raw = [(name.encode(), value.encode("latin-1")) for name, value in lines if value is not None]
    gate.check(Dialect(auth), Subrequest(peer, "http", from_lines(raw), body=body))
    (record,) = records.read
    return record


def a_redecider(policy, history=UNCHANGED, *, at=NOW, country="DE"):
    return Redecider(policy, countries=Countries(country), history=history, at=at)
