"""Read ``GATEWALL_SMTP_URL`` and ``GATEWALL_MAIL_FROM``, with one-line errors without the password. Pure."""

from dataclasses import dataclass, field
from email.utils import formataddr, parseaddr
from enum import StrEnum
from urllib.parse import SplitResult, unquote, urlsplit

from gatewall.engine.hosts import Authority
from gatewall.kernel.env_reader import ConfigError

_URL, _FROM = "GATEWALL_SMTP_URL", "GATEWALL_MAIL_FROM"
_LONGEST_NAME = 100
_LONGEST_ADDRESS = 254


class MailSecurity(StrEnum):
    """Encryption of the connection to the mail server, as the scheme of the URL."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


_PORTS = {MailSecurity.NONE: 25, MailSecurity.STARTTLS: 587, MailSecurity.TLS: 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server (SMTP submission) and the account there; ``user`` is empty if the server requires none."""

    security: MailSecurity
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MailSender:
    """Name and address in ``From``."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]

    def __str__(self) -> str:
        return formataddr((self.name, self.address))


def mail(url: str | None, sender: str, public_url: str | None) -> tuple[MailServer | None, MailSender | None]:
    """Return mail server and sender, both or neither. Raises ConfigError."""
    if url is None:
        if sender:
            raise ConfigError(f"{_FROM} is set without {_URL}: set both, or neither")
        return None, None
    server = mail_server(url)
    if not sender:
        raise ConfigError(f"{_URL} is set without {_FROM}: set both, or neither")
    if public_url is None:
        raise ConfigError(f"{_URL} needs GATEWALL_PUBLIC_URL: mails contain links to it")
    return server, mail_sender(sender)


def mail_server(url: str) -> MailServer:
    """Return the mail server of a URL. Raises ConfigError, whose text has no part of the URL."""
    parts = _split(url)
    security = next((each for each in MailSecurity if parts and parts.scheme == each), None)
    place = parts.netloc.rpartition("@")[2] if parts else ""
    authority = Authority.parse(place)
    if parts is None or security is None or authority is None:
        raise ConfigError(
            f"{_URL} must be like smtp+starttls://user:password@mail.example.com:587, smtps:// or smtp://"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(f"{_URL} must not have a path, a query or a fragment")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password) or not (user + password).isprintable():
        raise ConfigError(f"{_URL} must have a user and a password, or neither; percent-encode special characters")
    host = authority.host.name.strip("[]")
    return MailServer(security, host, authority.port or _PORTS[security], user, password)


def _split(url: str) -> SplitResult | None:
    if not url.isprintable() or " " in url:
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


def mail_sender(text: str) -> MailSender:
    """Return the sender of mails. Raises ConfigError."""
    name, address = parseaddr(text)
    local, _, domain = address.rpartition("@")
    authority = Authority.parse(domain)
    is_whole = text == address or text.endswith(f"<{address}>")  # parseaddr() drops what it does not understand
    is_plain = is_whole and address.isascii() and text.isprintable() and not set(address) & set(' "<>(),:;\\')
    if not local or "@" in local or authority is None or authority.port is not None or not is_plain:
        raise ConfigError(f"{_FROM} must be like Gatewall <gatewall@example.com>, not {text!r}")
    if len(name) > _LONGEST_NAME or len(address) > _LONGEST_ADDRESS:
        raise ConfigError(f"{_FROM} must have a name of at most {_LONGEST_NAME} characters, and an e-mail address")
    return MailSender(name, address)
