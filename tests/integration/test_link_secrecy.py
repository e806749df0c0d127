"""A one-time link is only in its mail, and in no row, event, log line or access record."""

import logging

import pytest

from audit.storage.ingest import ship
from tests.support.canaries import found_in, whole_database
from tests.support.mail_server import send_due, use
from tests.support.mailbox import mail_server
from tests.support.proxies import Api, a_token
from tests.support.visitor import Visitor
from webhooks.models import Mail

pytestmark = pytest.mark.django_db


def token_of(link):
    return link.partition("token=")[2]


def everywhere(caplog, settings):
    """Return the database, every log line but the mail server's, and every file of the installation as one text."""
    ship(settings.GATEWALL_HOME / "spool")
    files = [path.read_bytes() for path in settings.GATEWALL_HOME.rglob("*") if path.is_file()]
    logged = [record.getMessage() + (record.exc_text or "") for record in caplog.records if record.name != "mail.log"]
    return "\n".join([whole_database(), *logged, *(each.decode("latin-1") for each in files)])


def test_no_link_is_kept_anywhere(settings, caplog, alice, bob, auth, monkeypatch):
    caplog.set_level(logging.DEBUG)
    admin, tokens = Api(a_token(alice)), {}
    with mail_server() as (mailbox, server):
        use(settings, server)
        mailbox.answer = lambda envelope: f"451 4.7.1 {envelope.content.decode('latin-1')[-200:]!r}"
        Api().post("/password-reset", {"account": "bob"})
        admin.post(f"/users/{bob.pk}/invitation", {})
        send_due()  # refused by a response that quotes the mail
        mailbox.answer = None
        Mail.objects.update(next_at="2020-01-01T00:00:00Z")
        send_due()
        tokens |= {f"mail {number}": token_of(link) for number, link in enumerate(mailbox.links())}
        assert len(tokens) == 2
    shown = admin.post(f"/users/{bob.pk}/password-reset", {"hand_over": True}).json()["link"]
    tokens["by hand"] = token_of(shown)

    for path in ("/password/new", "/invitation"):
        for token in tokens.values():
            Visitor().get(path, {"token": token})
            Visitor().send(path, token=token, new="short")
            # A proxy that guards our own pages asks the gate about the page of the link and the pages it links to.
            auth(x_forwarded_uri=f"/wall{path}?token={token}", referer=f"https://wall.example/wall{path}?token={token}")
            auth(x_forwarded_uri=f"/wall/{token}/x", x_original_url=f"https://a.example/?x={token}")
    monkeypatch.setattr("accounts.links.redeeming.redeem", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # a bug while the form is handled
        Visitor().send("/password/new", token=tokens["by hand"], new="another battery staple")
    auth.gate.close()

    text = everywhere(caplog, settings)
    assert found_in(text, tokens) == set()
    assert "/wall/password/new" in text  # the access records are in it
