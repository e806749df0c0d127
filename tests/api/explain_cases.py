"""The state and the request that lead to each decision reason."""

from datetime import timedelta

from django.utils import timezone

from gatewall.engine.addresses import parse_address
from gatewall.engine.model import Reason
from gatewall.engine.snapshot import Segment
from gatewall.policy import revisions, system_settings
from gatewall.publication import compiler
from policies import services
from policies.grants.device_passes import create_device_pass
from tests.support.broken_policy import a_rule_that_cannot_be_published
from tests.support.cast import CLIENT, OFFICE
from tests.support.grants import granted
from tests.support.mmdb import write_mmdb
from tests.support.proxies import a_git_token, a_license, a_token, an_app_token
from tests.support.share_links import a_share_link
from tests.unit.rule_facts import an_access_rule


def domain(access, name=OFFICE):
    return services.register_domain(actor="", name=name, access=access, seed=True)


def session(user, **options):
    return {"credential": {"kind": "session", "token": a_token(user, **options)}}


def guest_of(link):
    return {"credential": {"kind": "guest", "id": link.pk}}


def _country(tmp_path, **_):
    (tmp_path / "geo").mkdir()
    write_mmdb(tmp_path / "geo" / "country.mmdb", {"198.51.100.0/24": {"country": "NZ"}})
    services.block_country(actor="alice", country_code="NZ")


def rate(auth, **_):
    system_settings.change(actor="alice", request_rate_per_minute=1)
    auth()


def _narrow(wall, **_):
    dora = wall.a_user("dora", all_domains=False, authorized_domains=[domain("authenticated", "files.example")])
    return session(dora)


def _expired(bob, **_):
    return session(bob, at=timezone.now() - timedelta(days=2))


def _rule(access, patch):
    patch.setitem(compiler._ROWS, Segment.ACCESS_RULES, lambda: [an_access_rule(access)])
    revisions.one_at_a_time(revisions.advance)(Segment.ACCESS_RULES, actor="alice", changes=[])
    return {}


def _device(bob, **_):
    ends = timezone.now() + timedelta(hours=1)
    of = {"domain": domain("authenticated"), "address": parse_address(CLIENT)}
    create_device_pass(user=bob, program="Kodi", expires_at=ends, **of)
    return {"headers": {"User-Agent": "Kodi/20"}}


CASES = {
    Reason.REQUEST_MALFORMED: lambda **_: {"host": "office example"},
    Reason.CLIENT_BLOCKED: lambda **_: services.block_network(actor="alice", network="198.51.100.0/24") and {},
    Reason.HOST_NOT_AUTHORIZED: lambda **_: domain("denied") and {},
    Reason.CLIENT_ALLOWED: lambda **_: services.allow_network(actor="alice", network=CLIENT) and {},
    Reason.COUNTRY_BLOCKED: _country,
    Reason.WAF_RULE: lambda **_: services.create_waf_rule(actor="alice", name="attack", pattern="attack") and {},
    Reason.CLIENT_RATE_LIMITED: rate,
    Reason.HOST_PUBLIC: lambda **_: domain("public") and {},
    Reason.CREDENTIAL_MISSING: lambda **_: {},
    Reason.CREDENTIAL_INVALID: _expired,
    Reason.HOST_NOT_IN_SCOPE: _narrow,
    Reason.SECOND_FACTOR_REQUIRED: lambda bob, **_: domain("two_factor") and session(bob),
    Reason.PHISHING_RESISTANT_REQUIRED: lambda bob, **_: domain("phishing_resistant") and session(bob),
    Reason.ACCESS_DENIED: lambda monkeypatch, **_: _rule("denied", monkeypatch),
    Reason.PATH_PUBLIC: lambda monkeypatch, **_: _rule("public", monkeypatch),
    Reason.SESSION_VALID: lambda bob, **_: session(bob),
    Reason.GIT_TOKEN_VALID: lambda bob, **_: {"credential": {"kind": "git-token", "token": f"Bob:{a_git_token(bob)}"}},
    Reason.APP_TOKEN_VALID: lambda bob, **_: {"credential": {"kind": "app-token", "token": an_app_token(bob)}},
    Reason.LICENSE_VALID: lambda **_: {"credential": {"kind": "license", "token": a_license()}},
    Reason.DEVICE_PASS_VALID: _device,
    Reason.SHARE_LINK_VALID: lambda **_: {
        "credential": {"kind": "guest", "id": a_share_link(domain("authenticated")).pk}
    },
    Reason.GRANT_VALID: lambda bob, **_: granted(bob, domain("authenticated")) and session(bob),
    Reason.CANNOT_DECIDE: lambda **_: a_rule_that_cannot_be_published() and {},
}
