"""Fixtures for tests of commands and pages."""

from importlib import import_module

import pytest
import time_machine
from django.conf import settings

from gatewall.engine.waf import vector
from tests.support.cast import OFFICE
from tests.support.patterns import scanner_of

# Exclusions of app profiles and `waf rates` need the built-in patterns, which take 5 to 20 s of CPU to compile.
vector._compiled = scanner_of  # type: ignore[assignment] # patterns from a file stand in for a cache of compiled ones


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """Return the key files of an installation, two keys each, on 1 March 2026."""
    key_files = import_module("tests.support.key_files")  # needs Django
    for name in key_files.NAMES:
        monkeypatch.delenv(name, raising=False)
    with time_machine.travel(key_files.START, tick=False) as clock:
        yield key_files.Installation(tmp_path / "secrets", clock)


@pytest.fixture
def vault(db):
    """Return the domain of the cast as a site that requires a second factor."""
    services = import_module("policies.services")
    return services.register_domain(actor="", name=OFFICE, access="two_factor", seed=True)


@pytest.fixture
def visitor(bob):
    """Return a browser at our pages, and create the user Bob."""
    return import_module("tests.support.visitor").Visitor()


@pytest.fixture
def signed_in(visitor):
    """Return the browser with Bob signed in."""
    visitor.sign_in()
    return visitor


@pytest.fixture
def mailbox(settings):
    """Return what the mail server of the installation receives."""
    with import_module("tests.support.mailbox").mail_server() as (received, server):
        import_module("tests.support.mail_server").use(settings, server)
        yield received


@pytest.fixture
def import_list(tmp_path, capsys):
    """Return a function that imports a text and returns what the command said."""

    def run(text, *arguments, name="drop"):
        path = tmp_path / "list"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        import_module("django.core.management").call_command("import_list", str(path), "--name", name, *arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def waf(db):
    """Create the built-in WAF rules."""
    import_module("policies.rules.builtin").seed_waf_rules(actor="seed")


@pytest.fixture
def watched(db, clock, settings, tmp_path):
    """Return a driver of an agent's detectors, at the moment of the cast; create a webhook for severe events."""
    watching = import_module("tests.support.watching")
    import_module("tests.support.receiver").a_webhook()
    settings.GATEWALL_TRUSTED_PROXIES = watching.TRUSTED
    return watching.Watched(tmp_path / "spool")


@pytest.fixture
def another_agent(watched):
    """Return a driver of another agent's detectors, or of the same agent after a restart."""
    return type(watched)(watched.spool)


@pytest.fixture
def recorded(auth, wall, bob):
    """Record answers of the gate to Bob, who is signed in, and to an anonymous visitor."""
    services, logs = import_module("policies.services"), import_module("audit.models")
    token = wall.a_token(bob)
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    for number in range(3):
        assert auth(service_authorization=token, x_forwarded_uri=f"/page/{number}").status == 200
    assert auth(x_forwarded_uri="/search?q=evil").status == 401
    assert auth(x_forwarded_for="203.0.113.9", service_authorization=token).status == 200
    auth.gate.close()
    import_module("audit.storage.ingest").ship(settings.GATEWALL_HOME / "spool")
    assert logs.AccessLog.objects.count() == 5


@pytest.fixture
def corp(db):
    """Return an OpenID Connect provider that tests control."""
    import_module("accounts.openid.documents").documents.forget()
    with import_module("tests.support.openid_provider").providing() as provider:
        yield provider


@pytest.fixture
def set_up(corp):
    """Register the provider, which creates users; return a function that changes its row."""
    services = import_module("accounts.identity_providers.services")
    row = services.create_provider(actor="alice", **corp.settings(create_users=True))
    return lambda **values: services.change_provider(row, actor="alice", **values)
