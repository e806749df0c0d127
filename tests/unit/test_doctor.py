"""The doctor's findings about probes, answers and records; its probes do no harm."""

import pytest

from gatewall.doctor.probing import probes
from gatewall.doctor.probing.findings import Verdict
from gatewall.doctor.probing.judging import CHECKS, judge
from gatewall.doctor.probing.snippets import excerpt, parts_of, snippets
from gatewall.doctor.probing.spelling import Spelling, compare
from gatewall.doctor.probing.target import Target, TargetRefused, require_ours
from gatewall.doctor.probing.this_request import this_request
from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Domain, DomainTable
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.detectors import Detectors, Limits
from gatewall.kernel.detectors import Probe as RefusedRequest
from gatewall.proxy_config.rendering import KINDS, Place
from tests.support.processes import BASE
from tests.unit.examined import SITE, all_probes, answered, arrived, everywhere, evidence, unrecorded

PLACE = Place("10.0.0.1:1998", "10.0.0.1:1999", "/gate", "office.example")


def outcome(found, verdict=Verdict.WRONG):
    """Return the codes of the findings with this verdict, by check."""
    by_check = {
        result.check: {finding.code for finding in result.findings if finding.verdict is verdict}
        for result in judge(found)
    }
    return {check: codes for check, codes in by_check.items() if codes}


def test_a_correct_proxy_passes_every_check():
    found = judge(evidence())

    assert [result.check for result in found] == list(CHECKS)
    assert {result.verdict for result in found if result.check not in {"identity", "around"}} == {Verdict.OK}


WRONG = {
    "forged address": ({"forged-for": arrived(client="203.0.113.11")}, {"client-address": {"client-forged"}}),
    "another header names the client": (
        {"forged-client": arrived(client="203.0.113.14")},
        {"client-address": {"client-forged"}},
    ),
    "no address told": (
        everywhere(visible=frozenset({"host", "proto", "method", "uri"})),
        {"client-address": {"client-not-told"}},
    ),
    "forged host": ({"forged-host": arrived(host="forged.gatewall-doctor.invalid")}, {"host": {"host-forged"}}),
    "forged scheme": ({"forged-host": arrived(scheme="https")}, {"host": {"scheme-forged"}}),
    "another host": (everywhere(host="upstream"), {"host": {"host-other"}}),
    "another scheme": (everywhere(scheme="https"), {"host": {"scheme-other"}}),
    "forged method": ({"forged-method": arrived(method="DELETE")}, {"method": {"method-forged"}}),
    "every method is GET": (
        dict.fromkeys(("head", "post", "delete"), arrived(method="GET")),
        {"method": {"method-other"}},
    ),
    "forged path": ({"forged-uri": arrived(path="/x/original-url")}, {"uri": {"uri-forged"}}),
    "decoded path": ({"encoded-twice": arrived(path="/gatewall-doctor/x/a%2Fb")}, {"uri": {"uri-other"}}),
    "no query": ({"query": arrived(query="")}, {"uri": {"query-lost"}}),
    "a method walks around": ({"delete": unrecorded(200)}, {"method": {"walked-around-by"}}),
    "a path walks around": ({"semicolon": unrecorded(404)}, {"uri": {"walked-around-by"}}),
    "401 as 200": ({"plain": answered(200)}, {"sign-in": {"program-other"}}),
    "401 without a challenge": ({"plain": answered(www_authenticate=None)}, {"sign-in": {"challenge-missing"}}),
    "page with 401": ({"page": answered(401)}, {"sign-in": {"page-not-redirected"}}),
    "page to elsewhere": (
        {"page": answered(location="https://evil.example/")},
        {"sign-in": {"page-redirected-elsewhere"}},
    ),
    "403 as 200": ({"attack": answered(200)}, {"refusal": {"refusal-other"}}),
    "403 as 404 for a browser": ({"attack-page": answered(404)}, {"refusal": {"refusal-other"}}),
    "403 without its number": (
        {"attack": answered(x_gatewall_decision_id=None)},
        {"refusal": {"refusal-without-number"}},
    ),
    "403 with another number": (
        {"attack": answered(x_gatewall_decision_id="018f0000-0000-7000-8000-000000000002")},
        {"refusal": {"refusal-other-number"}},
    ),
    "metrics for everybody": ({"hidden-metrics": answered(200)}, {"hidden": {"not-hidden"}}),
    "questions of strangers": (
        {"hidden-auth": answered(404, x_gatewall_reason="credential-missing")},
        {"hidden": {"not-hidden"}},
    ),
    "remembered": ({"again": unrecorded(401)}, {"asked-every-time": {"remembered"}}),
    "refusal for caches": (
        {"attack": answered(cache_control="public, max-age=60")},
        {"asked-every-time": {"may-be-kept"}},
    ),
    "an identity is believed": ({"forged-identity": arrived(subject_kind="user")}, {"identity": {"identity-believed"}}),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_doctor_reports_each_fault_and_no_other(name):
    changes, expected = WRONG[name]

    assert outcome(evidence(changes=changes)) == expected


def test_an_untrusted_peer_is_reported_first():
    found = evidence(changes=everywhere(visible=frozenset({"headers"}), path="/", query=""))

    assert outcome(found)["trusted-peer"] == {"peer-not-believed"}
    assert {"client-address", "host", "method", "uri"} <= set(outcome(found))


def test_other_peers_that_are_not_trusted_are_named():
    assert outcome(evidence(untrusted=("192.0.2.1",)), Verdict.UNKNOWN) == {"trusted-peer": {"untrusted-seen"}}


ALONE = {
    "walked around": (unrecorded(200), Verdict.WRONG, "walked-around"),
    "refused by somebody else": (unrecorded(403), Verdict.WRONG, "walked-around"),
    "the site makes up a number": (
        unrecorded(200, **{"x-gatewall-decision-id": "forged-by-the-site"}),
        Verdict.WRONG,
        "walked-around",
    ),
    "the log is late": (
        unrecorded(401, **{"x-gatewall-decision-id": "018f0000-0000-7000-8000-000000000002"}),
        Verdict.UNKNOWN,
        "log-late",
    ),
    "the gate is down": (unrecorded(500), Verdict.UNKNOWN, "proxy-failed"),
    "to https": (unrecorded(301, location="https://office.example/"), Verdict.UNKNOWN, "redirected"),
    "nobody listens": (unrecorded(None), Verdict.UNKNOWN, "not-reached"),
}


@pytest.mark.parametrize("name", ALONE)
def test_if_no_request_arrives_only_this_is_reported(name):
    change, verdict, code = ALONE[name]
    first, *rest = judge(evidence(changes={"plain": change}))

    assert [(finding.verdict, finding.code) for finding in first.findings] == [(verdict, code)]
    assert {finding.code for result in rest for finding in result.findings} == {"nothing-arrived"}


def test_a_forged_address_from_a_trusted_one_may_have_been_appended():
    changes = everywhere(client="127.0.0.1") | {"forged-for": arrived(client="203.0.113.11")}

    assert outcome(evidence(changes=changes))["client-address"] == {"client-forged-by-trusted"}


def test_a_request_that_the_proxy_itself_refuses_is_no_fault():
    assert outcome(evidence(changes={"not-ascii": unrecorded(400)})) == {}


@pytest.mark.parametrize(("kind", "verdict"), [("traefik", Verdict.OK), ("nginx", Verdict.UNKNOWN)])
def test_a_normalized_path_is_correct_if_gate_and_site_both_get_it(kind, verdict):
    found = evidence(kind, changes={"two-slashes": lambda seen: arrived(path=seen.probe.uri.replace("//", "/"))(seen)})

    (uri,) = [result for result in judge(found) if result.check == "uri"]
    assert uri.verdict is verdict


def test_a_public_domain_makes_the_refusal_checks_not_applicable():
    found = evidence(changes=everywhere(status=200, reason="host-public"))

    assert outcome(found, Verdict.NOT_APPLICABLE)["sign-in"] == {"not-asked-to-sign-in"}
    assert outcome(found, Verdict.NOT_APPLICABLE)["refusal"] == {"attack-not-refused"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("/a%2fb", "/a%2fb", Spelling.RAW),
        ("/a%2fb", "/a%2Fb", Spelling.SAME),
        ("/caf\u00e9", "/caf%E9", Spelling.SAME),
        ("/%41", "/A", Spelling.SAME),
        ("/a%2fb", "/a/b", Spelling.OTHER),
        ("/a%252fb", "/a%2fb", Spelling.OTHER),
        ("/a//b", "/a/b", Spelling.RESOLVED),
        ("/a/../b", "/b", Spelling.RESOLVED),
        ("/a;b", "/a", Spelling.OTHER),
    ],
)
def test_spellings_of_a_target_are_compared(first, second, expected):
    assert compare(first, second) is expected


def test_a_site_that_lets_the_doctor_in_gets_no_changing_requests():
    methods = {probe.method for probe in all_probes(is_let_in=True)}
    names = {name for probe in all_probes(is_let_in=True) for name, _ in probe.headers}

    assert methods == {"GET", "HEAD"}
    assert "X-HTTP-Method-Override" not in names


def test_every_probe_has_its_own_nonce_and_our_user_agent():
    found = all_probes()

    assert len({probe.nonce for probe in found}) == len(found) <= 30
    assert all(probe.user_agent == f"{probes.USER_AGENT} ({probe.nonce})" for probe in found)


def test_no_number_of_examinations_leads_to_a_ban():
    """The attack and the dots are refused; each may match two kinds of rules."""
    detectors, client = Detectors(Limits()), parse_address("198.51.100.7")
    rules = {probes.ATTACK: {1, 2}, probes.ATTACK_PAGE: {1, 2}, probes.DOTS: {3, 4}}
    for run in range(50):
        for probe in all_probes(run=f"{run:032d}"):
            if probe.name in rules:
                ids = frozenset(rules[probe.name])
                target, kinds = f"office.example {probe.uri.partition('?')[0]}", frozenset({f"rules:{sorted(ids)}"})
                assert detectors.probe(signal(run, client, target, kinds, ids)) == []


def signal(at, client, target, kinds, rules):
    return RefusedRequest(float(at), client, target, kinds, rules)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", [check for check in CHECKS if check not in {"trusted-peer", "around"}])
def test_every_check_shows_lines_of_the_sample_of_every_proxy(kind, check):
    parts = parts_of(kind, check)
    assert parts
    for part, snippet in zip(parts, snippets(kind, check, PLACE), strict=True):
        lines = (BASE / "deploy" / kind / part.file).read_text().splitlines()
        assert excerpt(lines, part)
        assert snippet.text.strip()
        assert "/wall" not in snippet.text
        assert "127.0.0.1:9998" not in snippet.text


@pytest.mark.parametrize(
    "text",
    [
        "", "office.example", "ftp://office.example/", "file:///etc/passwd", "http://", "http:///x", "http://a@office.example/",
        "http://office.example/?q", "http://office.example/#f", "http://office.example:0/", "http://office.example:99999/",
        "http://office.example/\r\nX: y", "http://office.example/a b", "http://\u043e.example/", "http://" + "a" * 3000,
        "http://[::1/",
        "http://office.example\\@evil.example/",
    ],
)  # fmt: skip
def test_a_url_that_is_not_a_site_is_refused(text):
    with pytest.raises(TargetRefused):
        Target.parse(text)


@pytest.mark.parametrize(
    ("text", "origin", "path"),
    [
        ("http://Office.Example", "http://office.example", ""),
        ("https://office.example:443/app/", "https://office.example", "/app"),
        ("http://[::1]:8080/", "http://[::1]:8080", ""),
    ],
)
def test_a_url_of_a_site(text, origin, path):
    target = Target.parse(text)

    assert (target.origin, target.path) == (origin, path)


def test_only_registered_hosts_and_the_public_url_are_examined():
    domains = DomainTable([Domain(1, "office.example"), Domain(2, "*.lab.example")])

    for host in ("office.example", "a.lab.example", "wall.example"):
        require_ours(Target.parse(f"https://{host}/"), domains, "https://wall.example")
    for host in ("lab.example", "evil.example", "169.254.169.254", "wall.example.evil.example"):
        with pytest.raises(TargetRefused):
            require_ours(Target.parse(f"https://{host}/"), domains, "https://wall.example")


TRUSTED = TrustedProxies.parse(["127.0.0.0/8", "10.0.0.0/8"])


@pytest.mark.parametrize(
    ("peer", "chain", "client", "is_red"),
    [
        ("127.0.0.1", None, "127.0.0.1", False),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.1.1", "198.51.100.7", False),
        ("127.0.0.1", "10.1.1.2, 10.1.1.1", "10.1.1.2", False),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1", True),
        ("192.0.2.1", None, "192.0.2.1", False),
        ("127.0.0.1", "nonsense", "127.0.0.1", False),
        ("", "203.0.113.9", "203.0.113.9", False),
    ],
)
def test_the_chain_of_this_request_is_shown_with_its_client(peer, chain, client, is_red):
    found = this_request(peer, chain, "office.example", None, TRUSTED)

    assert (found.client, found.is_ignored) == (client, is_red)
    assert [hop.address for hop in found.hops if hop.is_client] in ([client], [])
    assert bool(found.malformed) == (chain == "nonsense")


def test_the_site_is_named_in_its_authority():
    assert SITE.authority == "office.example"
