"""Names of the identity headers of a domain."""

from dataclasses import replace

import pytest

from gatewall.engine.hosts import Domain, DomainTable
from gatewall.engine.identity_headers import DEFAULT_HEADERS, KNOWN_HEADERS
from gatewall.engine.model import Reason
from gatewall.gate.responses import GuardPage, answer
from tests.proxies.every.kinds import UNTRUSTED
from tests.support.cast import ALICE_SUBJECT, OFFICE, a_decision, a_policy, a_request


def told(names, subject=ALICE_SUBJECT, reason=Reason.SESSION_VALID, host=OFFICE):
    """Return the identity headers of an answer at a domain with these names."""
    policy = replace(a_policy(), domains=DomainTable([Domain(1, OFFICE, identity_headers=tuple(names))]))
    given = answer(a_decision(reason, subject=subject), a_request(host=host), policy, GuardPage("/wall"), "the-id")
    assert len(dict(given.headers)) == len(given.headers)
    return {name: value for name, value in given.headers if name in KNOWN_HEADERS}


def test_default_names_apply_without_a_choice():
    expected = {"Remote-User": "alice", "Remote-Email": "alice@office.example", "Remote-Groups": "admins"}

    assert told(DEFAULT_HEADERS) == told(DEFAULT_HEADERS, host="other.example") == expected
    assert told(["X-Webauth-User"], host="other.example") == expected


def test_chosen_names_carry_the_values_and_the_default_ones_are_empty():
    assert told(["X-Webauth-User", "X-Forwarded-Email", "X-Auth-Request-Groups"]) == {
        "Remote-User": "",
        "Remote-Email": "",
        "Remote-Groups": "",
        "X-Webauth-User": "alice",
        "X-Forwarded-Email": "alice@office.example",
        "X-Auth-Request-Groups": "admins",
    }


def test_a_value_may_have_several_names_or_none():
    assert told(["Remote-User", "X-Remote-User"]) == {
        "Remote-User": "alice",
        "X-Remote-User": "alice",
        "Remote-Email": "",
        "Remote-Groups": "",
    }
    assert set(told([]).values()) == {""}


def test_chosen_headers_are_empty_for_a_stranger():
    assert set(told(KNOWN_HEADERS, None, Reason.HOST_PUBLIC).values()) == {""}
    assert set(told(KNOWN_HEADERS, replace(ALICE_SUBJECT, groups=("x",)))) == set(KNOWN_HEADERS)


@pytest.mark.parametrize("name", KNOWN_HEADERS)
def test_every_name_is_removed_from_visitors(name):
    assert name in UNTRUSTED
