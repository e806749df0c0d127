"""Mail in tests: configure a mail server, and send the due mails like the agent."""

from typing import Any

import pytest
from django.conf import settings as django_settings

from gatewall.agent.mail_sender import MailSender
from gatewall.kernel import smtp
from gatewall.kernel.env_mail import MailSecurity, MailServer
from gatewall.kernel.env_mail import MailSender as Sender
from webhooks.models import Mail

PUBLIC_URL = "https://wall.office.example"
SENDER = Sender("Gatewall", "gatewall@office.example")


def use(settings: Any, server: MailServer) -> None:
    """Configure mail with this server."""
    settings.GATEWALL_MAIL_SERVER, settings.GATEWALL_MAIL_SENDER = server, SENDER
    settings.GATEWALL_PUBLIC_URL = PUBLIC_URL


def accept_all(patch: pytest.MonkeyPatch) -> list[str]:
    """Configure a mail server that accepts everything without a connection; return an address for a test mail."""
    patch.setattr(django_settings, "GATEWALL_MAIL_SERVER", MailServer(MailSecurity.NONE, "relay", 25))
    patch.setattr(django_settings, "GATEWALL_MAIL_SENDER", SENDER)
    patch.setattr(smtp, "send", lambda *_, **__: smtp.Sent())
    return ["bob@office.example"]


def kinds() -> list[str]:
    """Return the kinds of the mails in the queue, in their order."""
    return [mail.kind for mail in Mail.objects.order_by("created_at")]


def send_due(sender: MailSender | None = None) -> None:
    """Send the due mails, like one cycle of the agent."""
    (sender or MailSender()).turn()
