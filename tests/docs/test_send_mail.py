"""docs/how-to/send-mail.md: its variables are read as printed, and its command prints the documented output."""

import io
import re
import shlex

from django.core.management import call_command

from gatewall.kernel import env_mail, smtp
from gatewall.kernel.smtp import Sent
from tests.docs.how_to import blocks, text_of

PAGE = "send-mail"


def variables():
    (block,) = blocks(PAGE, "sh", "Lines to copy")
    return dict(line.split("=", 1) for line in shlex.split(block))


def test_the_page_works_as_printed(settings, monkeypatch):
    said = variables()
    server, sender = env_mail.mail(said["GATEWALL_SMTP_URL"], said["GATEWALL_MAIL_FROM"], said["GATEWALL_PUBLIC_URL"])
    settings.GATEWALL_MAIL_SERVER, settings.GATEWALL_MAIL_SENDER = server, sender
    tried = []
    monkeypatch.setattr(smtp, "send", lambda server, *_, **__: tried.append(server) or Sent())
    (line,) = blocks(PAGE, "sh", "How to see that it works")
    command, _, answer = line.strip().partition("    # ")
    out = io.StringIO()
    call_command(*shlex.split(command.removeprefix("gatewall ").replace("-", "_")), stdout=out)

    assert (server.user, server.host, server.port) == ("gatewall@example.com", "mail.example.com", 587)
    assert tried == [server]
    assert out.getvalue().strip() == answer
    assert set(re.findall(r"`(smtp\S*://)`", text_of(PAGE))) == {f"{each}://" for each in env_mail.MailSecurity}
