"""``GATEWALL_SMTP_URL`` and ``GATEWALL_MAIL_FROM``: defaults, and refusals in one line without the password."""

import pytest

from gatewall.kernel.env_mail import MailSecurity, MailServer, mail, mail_sender, mail_server
from gatewall.kernel.env_reader import ConfigError

HOME = "https://wall.example.com"
GOOD = {
    "smtp://relay": MailServer(MailSecurity.NONE, "relay", 25),
    "smtp://[2001:db8::25]:2525": MailServer(MailSecurity.NONE, "2001:db8::25", 2525),
    "smtps://u:p@mail.example.com": MailServer(MailSecurity.TLS, "mail.example.com", 465, "u", "p"),
    "smtp+starttls://me%40example.com:p%3A%2F%40@mail.example.com/": MailServer(
        MailSecurity.STARTTLS, "mail.example.com", 587, "me@example.com", "p:/@"
    ),
}
BAD = [
    "mail.example.com",
    "https://mail.example.com",
    "smtp://",
    "smtp://mail.example.com:0",
    "smtp://mail.example.com:99999",
    "smtp://mail example.com",
    "smtp://[::1",
    "smtp://mail.example.com/inbox",
    "smtp://mail.example.com?tls=no",
    "smtp://s3cret@mail.example.com",
    "smtp://:s3cret@mail.example.com",
    "smtp://u:s3cret%0D%0ARSET@mail.example.com",
    "smtp://u:s3cret@mail.example.com\r\n",
]
SENDERS = [
    "",
    "Gatewall",
    "a@b@example.com",
    "@example.com",
    "gate@",
    "gate@exa mple.com",
    "gate@example.com:25",
    "gäte@example.com",
    "Gate <gate@example.com>\r\nBcc: all@example.com",
    "x" * 101 + " <gate@example.com>",
]


@pytest.mark.parametrize("url", GOOD)
def test_a_server_has_the_usual_port_of_its_scheme_and_a_decoded_account(url):
    assert mail_server(url) == GOOD[url]
    assert "p:/@" not in repr(mail_server(url))


@pytest.mark.parametrize("url", BAD)
def test_a_bad_url_is_refused_in_one_line_without_the_password(url):
    with pytest.raises(ConfigError) as refusal:
        mail_server(url)

    assert str(refusal.value).startswith("GATEWALL_SMTP_URL must")
    assert "s3cret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", SENDERS)
def test_a_bad_sender_is_refused_in_one_line(text):
    with pytest.raises(ConfigError, match=r"^GATEWALL_MAIL_FROM must [^\n]*\Z"):
        mail_sender(text)


def test_a_sender_may_have_a_name():
    sender = mail_sender('"The gate, 门" <gate@example.com>')

    assert (sender.name, sender.address, sender.domain) == ("The gate, 门", "gate@example.com", "example.com")
    assert mail_sender("gate@example.com").name == ""


def test_mail_needs_server_sender_and_public_url():
    assert mail(None, "", None) == (None, None)
    for url, sender, public_url, words in (
        (None, "gate@example.com", HOME, "GATEWALL_MAIL_FROM is set without GATEWALL_SMTP_URL"),
        ("smtp://relay", "", HOME, "GATEWALL_SMTP_URL is set without GATEWALL_MAIL_FROM"),
        ("smtp://relay", "gate@example.com", None, "GATEWALL_SMTP_URL needs GATEWALL_PUBLIC_URL"),
    ):
        with pytest.raises(ConfigError, match=words):
            mail(url, sender, public_url)
    assert mail("smtp://relay", "gate@example.com", HOME) == (GOOD["smtp://relay"], mail_sender("gate@example.com"))
