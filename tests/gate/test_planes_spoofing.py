"""Headers that a visitor or an untrusted peer adds change no answer, on both planes and in all four dialects."""

from dataclasses import replace
from itertools import product

import pytest

from policies import services
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db
FAMILY = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-method", "x-forwarded-uri"}
READ = {
    "auth": FAMILY,
    "forward": FAMILY,
    "original-url": {"x-forwarded-for", "x-original-url", "x-original-method"},
    "envoy": {"host", "x-forwarded-for", "x-forwarded-proto"},
}
REQUIRED = {
    "auth": (),
    "forward": ("x-forwarded-for", "x-forwarded-host", "x-forwarded-method", "x-forwarded-uri"),
    "original-url": ("x-forwarded-for", "x-original-url", "x-original-method"),
    "envoy": ("x-forwarded-for", "host"),
}
OPEN, INSIDE, STRANGER = "public.example", "192.0.2.1", "203.0.113.9"
BYPASS = {
    "x-forwarded-for": INSIDE,
    "x-forwarded-host": OPEN,
    "x-forwarded-proto": "http",
    "x-forwarded-method": "OPTIONS",
    "x-forwarded-uri": "/public",
    "x-forwarded-prefix": "/public",
    "x-forwarded-port": "80",
    "x-forwarded-server": OPEN,
    "x-forwarded": f"for={INSIDE}",
    "x-original-url": f"https://{OPEN}/public",
    "x-original-method": "OPTIONS",
    "x-original-uri": "/public",
    "x-original-host": OPEN,
    "x-original-forwarded-for": INSIDE,
    "x-rewrite-url": "/public",
    "x-real-ip": INSIDE,
    "x-client-ip": INSIDE,
    "true-client-ip": INSIDE,
    "cf-connecting-ip": INSIDE,
    "x-envoy-external-address": INSIDE,
    "x-envoy-original-path": "/public",
    "x-envoy-internal": "true",
    "x-host": OPEN,
    "x-http-method-override": "OPTIONS",
    "x-auth-request-redirect": f"https://{OPEN}/",
    "forwarded": f"for={INSIDE};host={OPEN};proto=http",
    "remote-user": "alice",
    "x-remote-user": "alice",
    "x-gatewall-subject-kind": "user",
    "user-agent": "kube-probe/1.31",
}


@pytest.fixture
def doors(office):
    """Create access that a forged header would gain: an allowed address and a public host."""
    services.allow_network(actor="alice", network=INSIDE)
    services.register_domain(actor="alice", name=OPEN, access="public")


@pytest.fixture
def session(bob):
    return ("Service-Authorization", a_token(bob))


def test_the_forged_values_would_give_access(both, visit, doors):
    assert both(visit(client=INSIDE)).verdict == (200, "client-allowed")
    assert both(visit(host=OPEN)).verdict == (200, "host-public")


# Headers of another dialect, or of none.


def test_a_header_of_another_dialect_changes_no_answer(both, dialect, visit, doors):
    honest = both(visit(uri="/private"))
    foreign = {name: value for name, value in BYPASS.items() if name not in READ[dialect]}

    noticed = [name for name, value in foreign.items() if both(visit(uri="/private").header(name, value)) != honest]

    assert noticed == []
    assert honest.verdict == (401, "credential-missing")


def test_all_headers_of_other_dialects_together_change_no_answer(both, dialect, visit, doors):
    question = visit(uri="/private")
    for name, value in BYPASS.items():
        question = question if name in READ[dialect] else question.header(name, value)

    assert both(question) == both(visit(uri="/private"))


def test_no_header_of_another_dialect_replaces_a_missing_one(both, dialect, visit, doors):
    for missing in REQUIRED[dialect]:
        question = visit()
        for name, value in BYPASS.items():
            question = question if name in READ[dialect] else question.header(name, value)

        assert both(question.without(missing)).verdict == (403, "request-malformed"), missing


ALIASES = ["X_Forwarded_{}", "X.Forwarded.{}", "X-Forwarded_{}", "X_Forwarded-{}", "XForwarded{}", "X-Forwarded{}"]


def test_an_alias_of_a_forwarding_header_changes_no_answer(both, visit, doors):
    values = [("For", INSIDE), ("Host", OPEN), ("Uri", "/public"), ("Proto", "bad"), ("Method", "bad")]
    for alias in ALIASES:
        lines = [(alias.format(part), value) for part, value in values]

        assert both(visit().plus(*lines)) == both(visit()), alias


def test_an_alias_of_a_credential_header_is_ignored(both, visit, session):
    for alias in ("Service_Authorization", "Service.Authorization", "ServiceAuthorization"):
        assert both(visit().plus((alias, session[1]))).verdict == (401, "credential-missing"), alias


def test_an_alias_of_another_header_changes_no_answer(both, visit, doors):
    for alias in ("X_Original_URL", "X.Original.URL", "X_Original-Method", "Host_", "Host."):
        assert both(visit().plus((alias, f"https://{OPEN}/public"))) == both(visit()), alias


# Missing.


def test_an_empty_or_missing_required_header_is_malformed(both, dialect, visit, doors, session):
    services.allow_network(actor="alice", network="127.0.0.1")

    for name, value in product(REQUIRED[dialect], [None, "", " ", ",", ", ,"]):
        question = visit().plus(session).without(name)
        asked = question if value is None else question.plus((name, value))
        assert both(asked).verdict == (403, "request-malformed"), (name, value)


def test_a_required_header_in_two_empty_lines_is_malformed(both, dialect, visit, session):
    services.allow_network(actor="alice", network="127.0.0.1")

    for name in REQUIRED[dialect]:
        question = visit().plus(session).without(name).plus((name, ""), (name, ""))
        assert both(question).verdict == (403, "request-malformed"), name


def test_without_a_client_address_the_proxy_is_not_taken_as_the_client(both, dialect, visit):
    services.allow_network(actor="alice", network="127.0.0.1")

    assert both(visit().without("x-forwarded-for")).status == (401 if dialect == "auth" else 403)


# Twice.


def lines_of(question):
    return [line for line in question.lines if line[0].lower().startswith(("x-forwarded", "x-original"))]


def test_equal_lines_count_as_one(both, visit, session):
    question = visit().plus(session)

    for line in lines_of(question):
        assert both(question.plus(line)) == both(question), line


def test_different_lines_are_malformed(both, dialect, visit, session):
    question = visit().plus(session)

    for name, value in lines_of(question):
        if name != "X-Forwarded-For":
            assert both(question.plus((name, f"{value}x"))).verdict == (403, "request-malformed"), name


def test_lines_of_forwarded_for_are_one_chain(both, visit, doors):
    assert both(visit(client=INSIDE).plus(("X-Forwarded-For", CLIENT))).verdict == (401, "credential-missing")
    assert both(visit(client=CLIENT).plus(("X-Forwarded-For", INSIDE))).verdict == (200, "client-allowed")


def test_two_cookie_lines_are_one_list(both, visit, session):
    question = visit().plus(("Cookie", "a=1"), ("Cookie", f"service.token={session[1]}"))

    assert both(question).verdict == (200, "session-valid")


def test_a_valid_credential_beside_an_invalid_line_passes(both, visit, session):
    assert both(visit().plus((session[0], "bad"), session)).verdict == (200, "session-valid")


def test_two_lines_of_basic_are_malformed(both, visit, session):
    question = visit().plus(session, ("Authorization", "Basic YQ=="), ("Authorization", "Basic Yg=="))

    assert both(question).verdict == (403, "request-malformed")


# Commas.


def test_a_comma_in_a_single_value_header_is_malformed(both, dialect, visit, session):
    for name in READ[dialect] - {"x-forwarded-for", "x-forwarded-uri", "x-original-url"}:
        question = visit().plus(session).header(name, f"{OFFICE},{OFFICE}")
        assert both(question).verdict == (403, "request-malformed"), name


@pytest.mark.parametrize("uri", ["/a,b", "/a?x=1,2", "/,", "/a, /b"])
@pytest.mark.parametrize("dialect", ["auth", "forward", "original-url"])
def test_a_comma_in_a_uri_is_data(both, visit, session, uri):
    assert both(visit(uri=uri).plus(session)).verdict == (200, "session-valid")


# Strangers.


def test_forwarding_headers_of_an_untrusted_peer_are_ignored(both, visit, doors, office):
    question = visit(client=INSIDE, host=OPEN)
    stranger = replace(question, peer=STRANGER).header("Host", OFFICE)

    assert both(stranger).verdict == (401, "credential-missing")


def test_an_untrusted_peer_is_the_client(both, visit, session):
    services.block_network(actor="alice", network=STRANGER)
    question = visit().plus(session)

    assert both(replace(question, peer=STRANGER)).verdict == (403, "client-blocked")


def test_malformed_headers_of_an_untrusted_peer_are_ignored(both, visit, session):
    question = visit(client="nonsense", proto="gopher").plus(session).header("Host", OFFICE)

    assert both(replace(question, peer=STRANGER)).status == 200
