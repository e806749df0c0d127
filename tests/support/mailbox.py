"""A loopback mail server that keeps what it receives, or refuses it. Without Django."""

import ssl
import subprocess
from asyncio import Server
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from gatewall.kernel.env_mail import MailSecurity, MailServer

Answer = Callable[[Envelope], str]


class Mailbox:
    """The received mails; ``answer`` is the response to a mail, by default that it was accepted."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.logins: list[tuple[bytes, bytes]] = []
        self.was_encrypted: list[bool] = []
        self.answer = answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        refusal = self.answer(envelope) if self.answer else ""
        if refusal:
            return refusal
        mail = message_from_bytes(envelope.original_content or b"", policy=default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients += envelope.rcpt_tos
        self.was_encrypted.append(session.ssl is not None)
        return "250 OK"

    def texts(self) -> list[str]:
        """Return the plain text of each mail."""
        return [body_of(mail, "plain").replace("\r\n", "\n") for mail in self.mails]

    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for mail in self.mails]

    def link_to(self, address: str) -> str:
        """Return the link of the newest mail to an address, empty without one."""
        return dict(zip(self.recipients, self.links(), strict=False)).get(address, "")

    def links(self) -> list[str]:
        """Return the first link of each mail."""
        return [next(word for word in text.split() if "://" in word) for text in self.texts()]


class _OnAFreePort(Controller):
    def _trigger_server(self) -> None:
        assert isinstance(self.server, Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]  # aiosmtpd leaves it out


def body_of(mail: EmailMessage, subtype: str) -> str:
    """Return the part of a mail that is plain text or HTML."""
    part = mail.get_body((subtype,))
    assert isinstance(part, EmailMessage)
    return str(part.get_content())


@contextmanager
def mail_server(
    *,
    answer: Answer | None = None,
    account: tuple[str, str] = ("", ""),
    certificate: Path | None = None,
    **options: Any,
) -> Iterator[tuple[Mailbox, MailServer]]:
    """Run a mail server; with a certificate it requires STARTTLS, with an account it requires that sign-in."""
    mailbox = Mailbox(answer)
    security = MailSecurity.NONE
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        options |= {"tls_context": context, "require_starttls": True}
        security = MailSecurity.STARTTLS

    def authenticate(server: SMTP, session: Session, envelope: Envelope, method: str, given: Any) -> AuthResult:
        assert isinstance(given, LoginPassword)
        mailbox.logins.append((given.login, given.password))
        is_right = (given.login, given.password) == tuple(part.encode() for part in account)
        return AuthResult(success=is_right, handled=False)

    if account[0]:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": certificate is not None}
    controller = _OnAFreePort(mailbox, hostname="127.0.0.1", port=0, **options)
    controller.start()
    try:
        port = controller.port
        yield mailbox, MailServer(security, "localhost" if certificate else "127.0.0.1", port, *account)
    finally:
        controller.stop()


def a_certificate(folder: Path, hosts: Iterable[str] = ("localhost",)) -> Path:
    """Make a self-signed certificate for hosts; return the folder of certificate and key."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    subject = ["-subj", "/CN=tests", "-addext", f"subjectAltName={names}"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", "-x509", *key, *subject, *files], check=True, capture_output=True, timeout=30)
    return folder
