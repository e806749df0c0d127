"""Send a test mail and print the mail server's answer."""

from argparse import ArgumentParser
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gatewall.kernel import smtp

_SECONDS = 20.0


class Command(BaseCommand):
    help = "Sends a test mail through GATEWALL_SMTP_URL, at once and without the queue."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address")

    def handle(self, *args: Any, **options: Any) -> None:
        server, sender = settings.GATEWALL_MAIL_SERVER, settings.GATEWALL_MAIL_SENDER
        if server is None or sender is None:
            raise CommandError("no mail is configured: set GATEWALL_SMTP_URL and GATEWALL_MAIL_FROM", returncode=1)
        address, message = options["address"], EmailMessage()
        try:
            message["From"], message["To"] = Address(sender.name, addr_spec=sender.address), Address(addr_spec=address)
        except (ValueError, IndexError) as error:
            raise CommandError(f"{address!r} is no e-mail address", returncode=1) from error
        message["Subject"], message["Date"] = "Test mail of Gatewall", format_datetime(timezone.now())
        message["Message-ID"] = make_msgid(domain=sender.domain)
        message.set_content(f"Gatewall at {settings.GATEWALL_PUBLIC_URL} can send mail.\n")
        sent = smtp.send(server, message, sender=sender.address, recipient=address, seconds=_SECONDS)
        if sent.failure:
            raise CommandError(f"{server.host}:{server.port}: {sent.failure}", returncode=1)
        self.stdout.write(f"{server.host}:{server.port} accepted the mail to {address}.")
