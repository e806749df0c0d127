"""The engine understands every value that the API accepts: random rows become a policy that decides."""

import contextlib
from datetime import UTC
from urllib.parse import quote

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Access
from gatewall.engine.model import Reason
from gatewall.engine.waf.rules import Operator, Target, Transform
from gatewall.policy import revisions
from gatewall.publication.store import DatabasePolicyStore
from policies.countries import COUNTRY_NAMES
from policies.validators import canonical_country, canonical_domain, canonical_network, validate_path_prefix
from tests.api.resources import KINDS
from tests.support.cast import OFFICE, a_policy, a_ports, a_request, a_rule
from tests.support.form import examples
from tests.support.proxies import PASSWORD
from tests.unit.publications import some_files

pytestmark = pytest.mark.django_db
HYPOTHESIS = settings(
    database=None, deadline=None, derandomize=True, max_examples=25, suppress_health_check=list(HealthCheck)
)

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
IDS = st.text("abzAZ09._@+-", min_size=3, max_size=20)
NETWORKS = st.one_of(
    st.ip_addresses().map(str),
    st.tuples(st.ip_addresses(), st.integers(0, 128)).map(lambda pair: f"{pair[0]}/{pair[1]}"),
    st.sampled_from(["203.0.113.0/24", "::ffff:203.0.113.7", "2001:DB8::/48", "10.1", "010.0.0.1"]),
)
HOSTS = st.one_of(
    st.from_regex(r"(\*\.)?[a-zA-Z0-9_-]{1,8}(\.[a-z]{2,4}){0,2}\.?", fullmatch=True),
    WORDS,
    st.sampled_from(["bücher.example", "*.XN--BCHER-KVA.example", "[::1]", "127.0.0.1", "localhost"]),
)
PATHS = st.one_of(st.from_regex(r"/[a-z%.;/é]{0,10}", fullmatch=True), WORDS)
MOMENTS = st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)).map(lambda at: at.isoformat()))
FLAGS = st.booleans()
SCOPE = st.one_of(st.none(), st.just(OFFICE))
PATTERNS = st.one_of(
    WORDS, st.text("ab()[]|*+?{}^$.\\dwsb019-", max_size=15), st.sampled_from([r"(?i)union\s+select", r"\bor\b", "é+"])
)
RULE_PATHS = st.one_of(st.sampled_from(["/", "/api", "/caf\u00e9/*", "/**", "/a/*/b/**"]), PATHS)
RULE_METHODS = st.sampled_from(["GET", "post", "PROPFIND", "G T"])
DAYS = st.sampled_from(["mon", "sun", "Monday"])
TIMES = st.one_of(st.none(), st.sampled_from(["00:00", "09:30", "23:59", "24:00"]))
EXCLUSION = st.dictionaries(
    st.sampled_from(["domain", "path_prefix", "argument", "expires_at"]),
    st.one_of(
        HOSTS, PATHS, st.none(), st.sampled_from(["2030-01-31T12:00:00Z", "0001-01-01T00:00:00+14:00", "20300131"])
    ),
    min_size=1,
)


def members(enum):
    return st.lists(st.sampled_from([each.value for each in enum]), min_size=1, max_size=4)


def some(needed, **optional):
    return st.fixed_dictionaries(needed, optional=optional)


BODIES = {
    "/users": some(
        {"username": IDS, "password": st.just(PASSWORD)}, email=WORDS, is_admin=FLAGS, is_active=FLAGS,
        all_domains=FLAGS,
        authorized_domains=st.lists(st.just(OFFICE), max_size=2), remark=WORDS,
    ),
    "/ip-black-list": some({"ip": NETWORKS}, remark=WORDS, expires_at=MOMENTS, force=FLAGS),
    "/ip-white-list": some({"ip": NETWORKS}, domain=SCOPE, inspect=FLAGS, remark=WORDS, expires_at=MOMENTS),
    "/waf-rules": some(
        {"name": WORDS, "pattern": PATTERNS}, operator=st.sampled_from([each.value for each in Operator]),
        targets=members(Target), transforms=members(Transform), domain=SCOPE, path_prefix=st.one_of(st.none(), PATHS),
        exclusions=st.lists(EXCLUSION, max_size=2), description=WORDS, score=st.integers(0, 11), enabled=FLAGS,
    ),
    "/access-rules": some(
        {"name": WORDS, "access": st.sampled_from([each.value for each in Access])},
        enabled=FLAGS, domains=st.lists(st.just(OFFICE), max_size=1), methods=st.lists(RULE_METHODS, max_size=2),
        paths=st.lists(some({"match": st.sampled_from(["exact", "prefix", "glob"]), "value": RULE_PATHS}), max_size=2),
        networks=st.lists(NETWORKS, max_size=1), asns=st.lists(st.integers(0, 2**32), max_size=1),
        countries=st.lists(st.sampled_from(["NZ", "de", "XX"]), max_size=1), weekdays=st.lists(DAYS, max_size=2),
        until=TIMES, time_zone=st.sampled_from(["UTC", "Asia/Tokyo", "utc", "Europe/Berlin"]), expires_at=MOMENTS,
        credential_kinds=st.lists(st.just("session"), max_size=1), rate_per_minute=st.integers(0, 2), remark=WORDS,
    ),
    "/authorized-domains": some(
        {"name": HOSTS}, access=st.sampled_from(["authenticated", "two_factor", "public", "denied"]), remark=WORDS,
        waf_monitor_until=MOMENTS,
        identity_headers=st.lists(st.sampled_from(["X-Webauth-User", "X-Remote-Groups"]), max_size=2),
    ),
    "/groups": some(
        {"name": st.one_of(st.from_regex(r"[a-zA-Z0-9._-]{1,8}", fullmatch=True), WORDS)},
        description=WORDS, all_domains=FLAGS,
        authorized_domains=st.lists(st.just(OFFICE), max_size=2),
    ),
    "/geo-block-rules": some({"country_code": st.sampled_from([*COUNTRY_NAMES, "nz", " de ", "XX"])}, remark=WORDS),
    "/webhooks": some(
        {"name": WORDS, "url": st.sampled_from(["https://a.example/x", "https://8.8.8.8", "http://a.example"])},
        kinds=st.lists(st.sampled_from(["client.banned", "log.gap"]), max_size=2), enabled=FLAGS,
        least_severity=st.sampled_from(["info", "high"]), allow_private=st.just(True), remark=WORDS,
    ),
    "/identity-providers": some(
        {
            "slug": st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True), "name": WORDS, "client_id": st.just("gatewall"),
            "issuer": st.sampled_from(["https://a.example", "https://a.example/x", "https://8.8.8.8", "http://[::1]"]),
        },
        scopes=st.sampled_from([["openid"], ["openid", "x"], ["a b"]]), client_secret=WORDS,
        group_map=st.sampled_from([{}, {"a": []}, {"a": ["admins"]}, {"a": ["nobody"]}]),
        group_map_gives_admin=st.just(True), create_users=FLAGS, enabled=FLAGS, allow_private=FLAGS,
        allowed_email_domains=st.sampled_from([[], ["corp.example"]]), domains=st.lists(st.just(OFFICE), max_size=2),
    ),
    "/licenses": some(
        {"name": WORDS}, expires_at=MOMENTS, is_active=FLAGS, all_domains=FLAGS,
        authorized_domains=st.lists(st.just(OFFICE), max_size=2), remark=WORDS,
    ),
    "/list-subscriptions": some(
        {
            "name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,30}", fullmatch=True),
            "url": st.sampled_from(["https://lists.example/a", "https://8.8.8.8/a", "http://lists.example/a"]),
        },
        enabled=FLAGS, allow_private=FLAGS, interval_minutes=st.integers(14, 1000), remark=WORDS,
    ),
}  # fmt: skip
REQUESTS = (
    a_request(),
    a_request(host="[::1]:8443", client="2001:db8::7", uri="/a%2f..//b;c?x=%27+union+select&x", credentials=["bob"]),
)


def test_every_resource_is_tried():
    assert set(BODIES) == {kind.path for kind in KINDS}


@pytest.mark.parametrize("path", BODIES)
def test_every_accepted_body_compiles_into_a_policy_that_decides(admin, office, tmp_path, path):
    accepted = []

    @given(body=BODIES[path])
    @HYPOTHESIS
    def every(body):
        with transaction.atomic():
            response = admin.post(path, body)
            assert response.status_code in {201, 400, 409}
            if response.status_code == 201:
                accepted.append(body)
                policy = DatabasePolicyStore(some_files(tmp_path)).load(revisions.current())
                for request in REQUESTS:
                    evaluate(request, policy, a_ports(country="NZ"))
            transaction.set_rollback(True)

    every()
    assert len(accepted) >= 5, "hardly anything was accepted"


@pytest.mark.parametrize(
    ("canonical", "texts"),
    [(canonical_network, NETWORKS), (canonical_domain, HOSTS), (canonical_country, st.text("abNZ dDeE", max_size=4))],
)
def test_canonicalization_is_idempotent(canonical, texts):
    @given(texts)
    @settings(HYPOTHESIS, max_examples=examples(200))
    def every(text):
        with contextlib.suppress(ValidationError):
            once = canonical(text)
            assert canonical(once) == once

    every()


@given(PATHS)
@settings(HYPOTHESIS, max_examples=100)
@example("/wiki%20new")
def test_a_rule_matches_below_every_accepted_path_prefix(prefix):
    with contextlib.suppress(ValidationError):
        validate_path_prefix(prefix)
        rule = a_rule("attack", path_prefix=prefix, score=10)
        decision = evaluate(a_request(uri=f"{quote(prefix)}?attack"), a_policy(rules=[rule]), a_ports())
        assert decision.verdict.reason == Reason.WAF_RULE
