"""One attempt to send a mail to a real SMTP server: encrypted, authenticated, bounded, and with no text in logs."""

import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from email.message import EmailMessage

import pytest

from gatewall.kernel import smtp
from gatewall.kernel.env_mail import MailSecurity, MailServer
from gatewall.kernel.smtp import Sent
from tests.support.mailbox import a_certificate, mail_server

LINK = "https://wall.example/wall/password/new?token=gwi_canary"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return a_certificate(tmp_path_factory.mktemp("tls"))


def a_mail():
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "gate@office.example", "bob@office.example", "Hello"
    message.set_content(f"Öffne {LINK}\n.\nend\n")
    return message


def send(server, message=None, *, seconds=5.0):
    addresses = {"sender": "gate@office.example", "recipient": "bob@office.example"}
    return smtp.send(server, message or a_mail(), **addresses, seconds=seconds)


@contextmanager
def speaking(answer):
    """Run a server that answers one connection with ``answer``, a function of the socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with suppress(OSError), listener.accept()[0] as client:
                answer(client)

        thread = threading.Thread(target=serve)
        thread.start()
        yield MailServer(MailSecurity.NONE, "127.0.0.1", listener.getsockname()[1])
        thread.join()


def test_a_mail_arrives_unchanged():
    with mail_server() as (mailbox, server):
        assert send(server) == Sent()

    assert mailbox.recipients == ["bob@office.example"]
    assert mailbox.texts() == [f"Öffne {LINK}\n.\nend\n"]


def test_it_is_encrypted_and_signed_in_with_a_certificate_that_is_trusted(certificate, monkeypatch):
    with mail_server(certificate=certificate, account=("gate", "pa:ss")) as (mailbox, server):
        untrusted = send(server)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
        assert send(server) == Sent()
        other_host = send(replace(server, host="127.0.0.1"))
        wrong = send(replace(server, password="wrong"))

    assert mailbox.was_encrypted == [True]
    assert untrusted == other_host
    assert untrusted == Sent("TLS with the mail server failed (CERTIFICATE_VERIFY_FAILED)", is_of_server=True)
    assert wrong == Sent("the mail server answered 535 5.7.8 to sign in", is_of_server=True)
    assert len([each for each in mailbox.logins if each[1] == b"pa:ss"]) == 1  # never without a verified certificate


def test_a_server_without_starttls_gets_neither_password_nor_mail():
    with mail_server() as (mailbox, server):
        sent = send(replace(server, security=MailSecurity.STARTTLS, user="gate", password="secret"))

    assert sent.is_of_server
    assert "does not offer" in sent.failure
    assert mailbox.mails == []


@pytest.mark.parametrize(
    ("answer", "is_final", "words"),
    [
        ("550 5.7.1 spam: {link}", True, "the mail server answered 550 5.7.1 to DATA"),
        ("554 {link}", True, "the mail server answered 554 to DATA"),
        ("451 4.7.1 greylisted {link}", False, "the mail server answered 451 4.7.1 to DATA"),
    ],
)
def test_a_refusal_is_kept_as_its_codes_as_servers_quote_the_mail(answer, is_final, words):
    with mail_server(answer=lambda _: answer.format(link=LINK)) as (_, server):
        assert send(server) == Sent(words, is_final=is_final)


@pytest.mark.parametrize(
    "answer",
    [
        lambda client: client.close(),
        lambda client: client.sendall(b"220 hello\r\n") or client.close(),
        lambda client: client.sendall(b"554 no\r\n"),
        lambda client: client.sendall(b"\xff" * 20_000),
    ],
    ids=["hangs up", "hangs up later", "refuses", "is no mail server"],
)
def test_a_server_that_fails_has_not_refused_the_mail(answer):
    with speaking(answer) as server:
        sent = send(server)

    assert sent.is_of_server
    assert not sent.is_final
    assert sent.failure


def test_a_server_that_answers_slowly_is_abandoned_at_the_deadline():
    over = threading.Event()

    def dribble(client):
        while not over.wait(0.02):
            client.sendall(b"220-x\r\n")

    with speaking(dribble) as server:
        sent = send(server, seconds=0.3)
        over.set()

    assert (sent.is_of_server, sent.is_final) == (True, False)


def test_a_port_without_a_listener_is_a_failure():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    assert "cannot be reached" in send(MailServer(MailSecurity.NONE, "127.0.0.1", port)).failure
