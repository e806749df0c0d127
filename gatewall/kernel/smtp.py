"""Send one mail to the mail server of the installation (SMTP submission): one attempt, bounded time. Pure.

Certificates are verified. Encryption that the URL requests is required: a server without STARTTLS gets nothing.
Failures contain status codes only, because servers quote the mail in their responses, and a mail may contain a link.
"""

import re
import smtplib
import socket
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

from gatewall.kernel.deadline import Deadline
from gatewall.kernel.env_mail import MailSecurity, MailServer

_ENHANCED = re.compile(rb"[245]\.[0-9]{1,3}\.[0-9]{1,3}(?=[ \r\n]|\Z)")
_PERMANENT = range(500, 600)
_CLOSING = 421


@dataclass(frozen=True, slots=True)
class Sent:
    """Result of an attempt; ``failure`` is empty if the server accepted the mail.

    ``is_final``: the server refused this mail for good. ``is_of_server``: the server accepts no mail at all now.
    """

    failure: str = ""
    is_final: bool = False
    is_of_server: bool = False


class _Refused(Exception):
    """The server responded with an unexpected status."""

    def __init__(self, step: str, code: int, text: bytes) -> None:
        enhanced = _ENHANCED.match(text)
        words = f"{code} {enhanced[0].decode()}" if enhanced else str(code)
        super().__init__(f"the mail server answered {words} to {step}")
        self.code = code


class _Connection(smtplib.SMTP):
    """A connection within a deadline, over TLS from the beginning for ``smtps``."""

    def __init__(self, server: MailServer, deadline: Deadline) -> None:
        self._server, self._deadline = server, deadline
        super().__init__(server.host, server.port, local_hostname=_own_name())

    def connect(self, host: str = "", port: int = 0, source_address: object = None) -> tuple[int, bytes]:
        """Connect to the server and return its greeting. Raises OSError."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self.sock = self._deadline.connect([str(place[0]) for *_, place in found], port)
        self.sock.settimeout(max(0.1, self._deadline.left))
        if self._server.security is MailSecurity.TLS:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=host)
        self.file = None
        return self.getreply()


def send(server: MailServer, message: EmailMessage, *, sender: str, recipient: str, seconds: float) -> Sent:
    """Send the mail and return the result; raises nothing, and gives up after ``seconds``."""
    deadline = Deadline(seconds)
    try:
        content = message.as_bytes(policy=SMTP)
    except ValueError:  # a character that is not allowed in headers
        return Sent("the mail has a header that cannot be sent", is_final=True)
    try:
        connection = _open(server, deadline)
    except (OSError, smtplib.SMTPException, ValueError, _Refused) as error:
        deadline.cancel()
        return Sent(_why(error), is_of_server=True)
    try:
        return _transfer(connection, content, sender, recipient)
    finally:
        connection.close()
        deadline.cancel()


def _open(server: MailServer, deadline: Deadline) -> _Connection:
    """Return a connection that is encrypted and signed in, as the URL requires."""
    connection = _Connection(server, deadline)
    try:
        _expect(connection.ehlo(), "EHLO")
        if server.security is MailSecurity.STARTTLS:
            _expect(connection.starttls(context=ssl.create_default_context()), "STARTTLS")
            _expect(connection.ehlo(), "EHLO")
        if server.user:
            connection.login(server.user, server.password)
    except BaseException:
        connection.close()
        raise
    return connection


def _transfer(connection: _Connection, content: bytes, sender: str, recipient: str) -> Sent:
    """Transfer the mail. QUIT is not sent: the server has accepted the mail once it responds to DATA."""
    try:
        _expect(connection.mail(sender), "MAIL FROM")
    except _Refused as refusal:  # the sender is refused, so every mail would be
        return Sent(str(refusal), is_of_server=True)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return Sent(_why(error), is_of_server=True)
    try:
        _expect(connection.rcpt(recipient), "RCPT TO")
        _expect(_data(connection, content), "DATA")
    except _Refused as refusal:
        return Sent(str(refusal), is_final=refusal.code in _PERMANENT, is_of_server=refusal.code == _CLOSING)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return Sent(_why(error), is_of_server=True)
    return Sent()


def _data(connection: _Connection, content: bytes) -> tuple[int, bytes]:
    try:
        return connection.data(content)
    except smtplib.SMTPDataError as error:
        return error.smtp_code, _bytes(error.smtp_error)


def _expect(response: tuple[int, bytes], step: str) -> None:
    code, text = response
    if not 200 <= code < 300:
        raise _Refused(step, code, text)


def _why(error: Exception) -> str:
    """Return the reason of a failure, without text of the server."""
    if isinstance(error, _Refused):
        return str(error)
    if isinstance(error, smtplib.SMTPResponseException):
        step = "sign in" if isinstance(error, smtplib.SMTPAuthenticationError) else "connect"
        return f"{_Refused(step, error.smtp_code, _bytes(error.smtp_error))}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the mail server does not offer what GATEWALL_SMTP_URL asks for (STARTTLS, or sign-in)"
    if isinstance(error, ssl.SSLError):
        return f"TLS with the mail server failed ({error.reason or type(error).__name__})"
    if isinstance(error, TimeoutError | smtplib.SMTPServerDisconnected):
        return "the mail server did not answer in time, or hung up"
    words = error.strerror if isinstance(error, OSError) else None
    return f"the mail server cannot be reached ({words or type(error).__name__})"


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("ascii", "replace")


def _own_name() -> str:
    """Return the name for EHLO. ``smtplib`` would resolve it, which may take long."""
    name = socket.gethostname()
    return name if name.isascii() and name.replace("-", "").replace(".", "").isalnum() else "[127.0.0.1]"
