"""Both planes inspect a body that the proxy forwards."""

import gzip

import pytest

from gatewall.engine.waf.reading import MAX_BODY
from gatewall.policy import system_settings
from policies import services
from policies.rules.builtin import seed_waf_rules
from tests.support.cast import CLIENT
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
FORM = ("Content-Type", "application/x-www-form-urlencoded")
JSON = ("Content-Type", "application/json; charset=utf-8")
MULTIPART = ("Content-Type", "multipart/form-data; boundary=limit")
SHOWN = ["forward", "envoy"]


def part(content, disposition='form-data; name="comment"'):
    head = f"--limit\r\nContent-Disposition: {disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
    return head.encode() + content + b"\r\n--limit--\r\n"


ATTACKS = {
    "form": (b"a=1&comment=1%27+UNION+SELECT+password+FROM+users--", FORM),
    "form whose type is not told": (b"a=1&comment=1%27+UNION+SELECT+password+FROM+users--", None),
    "JSON": (rb'{"a": ["x", {"comment": "<script>alert(1)</script>"}]}', JSON),
    "JSON with escapes": (rb'{"comment": "\u003cscript\u003ealert(1)\u003c/script\u003e"}', JSON),
    "part of a form": (part(b"1' UNION SELECT password FROM users--"), MULTIPART),
    "file": (part(bytes(99) + b"<?php system($_GET['c']); ?>\xff", 'form-data; name="f"; filename="a.png"'), MULTIPART),
    "name of a file": (part(b"x", 'form-data; name="f"; filename="shell.php"'), MULTIPART),
    "text": (b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>", ("Content-Type", "text/xml")),
}
HARMLESS = {
    "form": (b"a=1&comment=the+union+of+workers&submit=Send%20it", FORM),
    "JSON": (b'{"title": "Minutes", "text": "It\'s decided: we select Ann & Bob."}', JSON),
    "file": (part(bytes(range(256)) * 200, 'form-data; name="f"; filename="photo.png"'), MULTIPART),
    "packed": (gzip.compress(b"a=1&b=2"), ("Content-Encoding", "gzip")),
    "as long as is looked at": (b"a=" + b"x" * (MAX_BODY - 2), FORM),
}


@pytest.fixture(autouse=True)
def builtin_rules(db):
    seed_waf_rules(actor="seed")


@pytest.fixture
def ask(plane, visit, bob):
    """Return a function that asks about a request with a body and a valid session."""
    signed_in = ("Service-Authorization", a_token(bob))

    def ask(body, *lines):
        return plane(visit(method="POST").showing(body, signed_in, *[line for line in lines if line])).verdict

    return ask


@pytest.mark.parametrize("dialect", SHOWN)
def test_an_attack_in_a_body_is_refused(ask):
    given = {name: ask(body, line) for name, (body, line) in ATTACKS.items()}

    assert given == dict.fromkeys(ATTACKS, (403, "waf-rule"))


@pytest.mark.parametrize("dialect", SHOWN)
def test_a_harmless_body_is_let_through(ask):
    given = {name: ask(body, line) for name, (body, line) in HARMLESS.items()}

    assert given == dict.fromkeys(HARMLESS, (200, "session-valid"))


@pytest.mark.parametrize("dialect", SHOWN)
def test_rule_and_mode_decide_about_uninspected_bodies(ask):
    bodies = [
        (b"x" * (MAX_BODY + 1), FORM),
        (b"x" * 100, ("Content-Encoding", "br")),
        (b"x" * 100, ("X-Envoy-Auth-Partial-Body", "true")),
    ]

    assert [ask(*each) for each in bodies] == [(403, "waf-rule")] * 3
    system_settings.change(actor="alice", waf_mode="monitor")
    assert [ask(*each) for each in bodies] == [(200, "session-valid")] * 3


@pytest.mark.parametrize("dialect", SHOWN)
def test_a_custom_rule_may_inspect_the_body(ask):
    services.create_waf_rule(actor="alice", name="word", pattern="forbidden", operator="contains", targets=["body"])

    assert ask(b"a=forbidden", FORM) == (403, "waf-rule")
    assert ask(b"a=allowed", FORM) == (200, "session-valid")


@pytest.mark.parametrize("dialect", ["auth", "original-url"])
def test_other_dialects_ignore_bodies(plane, visit):
    services.allow_network(actor="alice", network=CLIENT, inspect=True)

    assert plane(visit().showing(*ATTACKS["form"])).verdict == (200, "client-allowed")
