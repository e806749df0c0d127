"""Cost of an answer of the data plane in calls of functions (Python's and C's) for one request, not in time.

The whole of it: the bytes of a request to status and headers, with a country, the WAF, a request rate, a credential
with a real signature and a record in a real spool. The bounds are what was counted on 28 November 2026.
"""

import gc
import sys
from ipaddress import IPv4Address

import pytest

from audit.spool.writer import SpoolWriter
from gatewall.credentials.machine import GIT_TOKEN_PREFIX, new_token
from gatewall.engine.segments import blocked_networks_of
from gatewall.engine.snapshot import GitTokenState, LicenseState, Version
from gatewall.engine.users import UserState
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow
from gatewall.gate import bodies
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.shadow import Shadow
from gatewall.kernel.request_rate import SharedRequestRate
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.server.heads import Heads, RememberingReader
from gatewall.snapshot import codec
from gatewall.snapshot.assembly import Assembly, SegmentData
from tests.support.cast import NOW, TRUSTED, a_credential_check, a_ports, a_rule, a_session_token, a_source
from tests.support.ports import Countries
from tests.unit.recorded import Policies

BROWSER = {
    "host": "gatewall",
    "connection": "keep-alive",
    "sec-ch-ua": '"Chromium";v="142", "Not_A Brand";v="99"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
    "upgrade-insecure-requests": "1",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36",
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "sec-fetch-site": "same-origin",
    "sec-fetch-mode": "navigate",
    "sec-fetch-user": "?1",
    "sec-fetch-dest": "document",
    "referer": "https://app7.example.com/projects?tab=all",
    "accept-encoding": "gzip, deflate, br, zstd",
    "accept-language": "en-GB,en;q=0.9,de;q=0.8",
    "x-forwarded-for": "192.0.2.7",
    "x-forwarded-host": "app7.example.com",
    "x-forwarded-proto": "https",
    "x-forwarded-method": "GET",
    "x-forwarded-uri": "/projects/42/board?tab=open&sort=-updated&q=weekly+report",
}
DOMAINS = {f"app{number}.example.com": "authenticated" for number in range(50)}
COUNTRIES = [f"{first}{second}" for first in "ABCDEF" for second in "QRSTUVWXYZ"]
TOKENS = [new_token(GIT_TOKEN_PREFIX) for _ in range(1000)]
PEOPLE = [UserState(number, f"many{number}", "", False, True, 1, True, frozenset()) for number in range(1000)]
MOST_CALLS = {"session": 208, "git token": 315}
MOST_CALLS_WHEN_NEW = 532
needs_hyperscan = pytest.mark.skipif(not AVAILABLE, reason="no hyperscan on this platform")


def networks(number):
    return [str(IPv4Address(0x0B000000 + each * 4099)) for each in range(number)]


def custom_rules(number):
    return [a_rule(rf"(?i)\bword{each}[0-9]+\.end{each * 7}\b", id=1000 + each) for each in range(number)]


class DataPlane:
    """The application of a worker with a policy of this size."""

    def __init__(self, folder, *, blocked=10, rules=10, people=10, builtin=False):
        source = a_source(
            blocked=networks(blocked),
            domains=DOMAINS,
            countries=COUNTRIES,
            rules=[*(builtin_rules() if builtin else ()), *custom_rules(rules)],
            users=PEOPLE[:people],
            git_tokens=[GitTokenState(n, n, TOKENS[n].digest, None) for n in range(people)],
            licenses=[LicenseState(n, TOKENS[n].digest, True, None, True, frozenset()) for n in range(people)],
            authorized_domains_mode="registered",
            waf_mode="block",
            request_rate_per_minute=1_000_000,
        )
        assert len(source[blocked_networks_of("manual")]) == blocked
        data = {name: SegmentData(name, lambda n=name, r=rows: codec.encode(n, r)) for name, rows in source.items()}
        policies = Policies(Assembly(CompiledNow() if AVAILABLE else None).build(Version(1), data))
        ports = a_ports(
            countries=Countries("DE"), credentials=a_credential_check(), rates=SharedRequestRate(folder / "rates")
        )
        self.spool = SpoolWriter(folder / "spool", "node")
        gate = Gate(policies, ports, trusted=TRUSTED, guard=GuardPage("/wall"), clock=lambda: NOW, records=self.spool)
        gate.shadow = Shadow(ports, ports, self.spool)
        self._application = AuthApplication(gate, policies, "/wall", TrustedCallers(TRUSTED, None))
        self._reader = RememberingReader(bodies.bounds, Heads(), "10.0.0.1")
        last = people - 1
        self.credentials = {
            "session": ("cookie", f"theme=dark; service.token={a_session_token(PEOPLE[last])}"),
            "git token": ("service-git-token", f"many{last}:{TOKENS[last].text}"),
        }

    def calls(self, kind):
        """Return the calls of one more request after some equal ones, which have filled the memos."""
        return min(self.calls_of_each(kind)[1:])

    def calls_of_each(self, kind):
        """Return the calls of each of eight equal requests."""
        return [self._counted(self.credentials[kind]) for _ in range(8)]

    def calls_when_new(self):
        """Return the calls of a request with a session, address, browser and target that no other request had."""
        counts = []
        for number in range(1, 4):
            session = a_session_token(PEOPLE[-1], jti=f"new-{number}")
            new = {
                "user-agent": f"Mozilla/5.0 (X11) Chrome/{number}.0 Safari/537.36",
                "x-forwarded-for": f"192.0.3.{number}",
                "x-forwarded-uri": f"/projects/{number}/board?q=report+{number}",
                "referer": f"https://app7.example.com/projects/{number}",
            }
            counts.append(self._counted(("cookie", f"visitor={number}; service.token={session}"), new))
        return min(counts)

    def _counted(self, credential, changed=None):
        lines = {**BROWSER, **(changed or {}), credential[0]: credential[1]}
        raw = "\r\n".join(["GET /wall/auth HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""])
        data, counted = raw.encode(), 0

        def count(frame, event, argument):
            nonlocal counted
            counted += event in {"call", "c_call"}

        gc.disable()
        sys.setprofile(count)
        try:
            self._reader.feed(data)
            method, target, lines, body, _, head = self._reader.next()
            answer = self._application(method.decode("latin-1"), target, lines, "10.0.0.1", "http", body, head)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert answer.status == 200, answer
        return counted


@pytest.fixture(scope="module")
def data_plane(tmp_path_factory):
    """Yield a function that returns the data plane of a size, created once; close all of them at the end."""
    made = {}

    def of_size(**size):
        key = tuple(sorted(size.items()))
        if key not in made:
            made[key] = DataPlane(tmp_path_factory.mktemp("data-plane"), **size)
        return made[key]

    yield of_size
    for each in made.values():
        each.spool.close()


@needs_hyperscan
def test_an_answer_takes_at_most_the_recorded_number_of_calls(data_plane):
    everything = data_plane(blocked=10_000, people=1000, builtin=True)

    taken = {kind: everything.calls_of_each(kind) for kind in MOST_CALLS}

    assert all(0 < min(taken[kind][1:]) <= most for kind, most in MOST_CALLS.items()), taken


@needs_hyperscan
def test_a_unique_request_takes_at_most_the_recorded_number_of_calls(data_plane):
    assert 0 < data_plane(blocked=10_000, people=1000, builtin=True).calls_when_new() <= MOST_CALLS_WHEN_NEW


@pytest.mark.parametrize("kind", MOST_CALLS)
@pytest.mark.parametrize("much", [{"blocked": 10_000}, {"rules": 200}, {"people": 1000}], ids=str)
def test_the_calls_of_an_answer_do_not_grow_with_the_policy(data_plane, kind, much):
    if "rules" in much and not AVAILABLE:
        pytest.skip("RE2 looks for each rule")

    little, grown = data_plane().calls(kind), data_plane(**much).calls(kind)

    assert grown <= 1.05 * little, (grown, little)
