"""The oracle of the fault tests decides as docs/decisions.md documents, step by step."""

import pytest

from tests.nemesis.oracle import SETTINGS, Question, Verdict, decide

OFFICE, CLIENT = "office.example", "198.51.100.7"
EVERYWHERE = {"is_active": True, "all_domains": True, "authorized_domains": ()}
IN_OFFICE = {"is_active": True, "all_domains": False, "authorized_domains": (OFFICE,)}
MEMBER = {"is_active": True, "all_domains": False, "authorized_domains": (), "groups": ("family",)}
WORLD = {
    SETTINGS: {"waf_mode": "block", "geo_mode": "block"},
    ("domain", OFFICE): {"access": "authenticated"},
    ("domain", "*.wild.example"): {"access": "authenticated"},
    ("user", "ann"): EVERYWHERE | {"is_admin": False},
    ("session", "1"): {"user": "ann"},
    ("git", "1"): {"user": "ann"},
    ("license", "1"): EVERYWHERE,
}
ANN = Question(CLIENT, OFFICE, "/", "session", "1")
BLOCKED, ALLOWED, INSPECTED = {}, {"inspect": False}, {"inspect": True}
LOW = {"pattern": "x1", "score": 3, "action": "block", "enabled": True, "domain": None}


@pytest.mark.parametrize(
    ("changes", "asked", "right"),
    [
        ({}, {}, (200, "session-valid")),
        ({}, {"kind": "git"}, (200, "git-token-valid")),
        ({}, {"kind": "license"}, (200, "license-valid")),
        ({}, {"kind": ""}, (401, "credential-missing")),
        ({}, {"credential": "2"}, (401, "credential-invalid")),
        ({}, {"host": "else.example"}, (403, "host-not-authorized")),
        ({}, {"host": "a.b.wild.example"}, (200, "session-valid")),
        ({}, {"host": "wild.example"}, (403, "host-not-authorized")),
        (
            {("domain", "b.wild.example"): {"access": "denied"}},
            {"host": "b.wild.example"},
            (403, "host-not-authorized"),
        ),
        ({("domain", OFFICE): {"access": "public"}}, {"kind": ""}, (200, "host-public")),
        ({("domain", OFFICE): {"access": "two_factor"}}, {}, (401, "second-factor-required")),
        ({("domain", OFFICE): {"access": "two_factor"}}, {"kind": "license"}, (401, "second-factor-required")),
        (
            {("domain", OFFICE): {"access": "two_factor"}, ("license", "1"): IN_OFFICE},
            {"kind": "license"},
            (200, "license-valid"),
        ),
        ({("user", "ann"): IN_OFFICE}, {}, (200, "session-valid")),
        ({("user", "ann"): IN_OFFICE}, {"host": "a.wild.example"}, (403, "host-not-in-scope")),
        ({("user", "ann"): MEMBER, ("group", "family"): IN_OFFICE}, {}, (200, "session-valid")),
        (
            {("user", "ann"): MEMBER, ("group", "family"): EVERYWHERE},
            {"host": "a.wild.example"},
            (200, "session-valid"),
        ),
        ({("user", "ann"): MEMBER}, {}, (403, "host-not-in-scope")),
        (
            {("user", "ann"): MEMBER, ("group", "family"): IN_OFFICE, ("domain", OFFICE): {"access": "two_factor"}},
            {"kind": "git"},
            (200, "git-token-valid"),
        ),
        ({("user", "ann"): EVERYWHERE | {"is_active": False}}, {}, (401, "credential-invalid")),
        ({("license", "1"): EVERYWHERE | {"is_active": False}}, {"kind": "license"}, (401, "credential-invalid")),
        ({("block", CLIENT): BLOCKED}, {}, (403, "client-blocked")),
        ({("block", "198.51.100.0/24"): BLOCKED, ("allow", CLIENT, None): ALLOWED}, {}, (200, "client-allowed")),
        ({("block", CLIENT): BLOCKED, ("allow", "198.51.100.0/24", None): ALLOWED}, {}, (403, "client-blocked")),
        ({("block", CLIENT): BLOCKED, ("allow", CLIENT, None): ALLOWED}, {}, (403, "client-blocked")),
        ({("allow", CLIENT, None): ALLOWED}, {"kind": ""}, (200, "client-allowed")),
        ({("allow", CLIENT, "*.wild.example"): ALLOWED}, {"kind": ""}, (401, "credential-missing")),
        ({("allow", CLIENT, None): INSPECTED}, {"uri": "/?a=union%20select"}, (403, "waf-rule")),
        ({("allow", CLIENT, None): INSPECTED}, {}, (200, "client-allowed")),
        ({("country", "NZ"): {}}, {"client": "203.0.113.130"}, (403, "country-blocked")),
        ({("country", "NZ"): {}}, {"client": "203.0.113.200"}, (200, "session-valid")),
        ({("rule", "a"): LOW}, {"uri": "/x1"}, (200, "session-valid")),
        ({("rule", "a"): LOW, ("rule", "b"): LOW}, {"uri": "/x1"}, (403, "waf-rule")),
        (
            {("rule", "a"): LOW, ("rule", "b"): LOW | {"enabled": False}},
            {"uri": "/x1"},
            (200, "session-valid"),
        ),
        (
            {SETTINGS: {"waf_mode": "monitor", "geo_mode": "off"}, ("country", "NZ"): {}},
            {"uri": "/?a=union%20select", "client": "203.0.113.130"},
            (200, "session-valid"),
        ),
    ],
)
def test_the_first_step_that_applies_decides(changes, asked, right):
    assert decide(WORLD | changes, ANN._replace(**asked)) == Verdict(*right)
