"""Thread that sends mails to users while this host's agent leads."""

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from accounts.links import links
from accounts.models import LinkPurpose
from gatewall.agent.loop import Loop
from gatewall.kernel import smtp
from gatewall.kernel.log_lines import ProblemLog
from gatewall.kernel.smtp import Sent
from webhooks.mail import letters, queue
from webhooks.models import Mail, MailKind

SECONDS = 20.0
"""Timeout of an attempt; the lease is longer."""
PAUSES = (timedelta(seconds=15), timedelta(minutes=5))
"""The first pause after the mail server failed, which then doubles, and the longest."""
_PURPOSES = {
    MailKind.INVITATION: LinkPurpose.INVITATION,
    MailKind.PASSWORD_RESET: LinkPurpose.PASSWORD_RESET,
}


class MailSender(Loop):
    """Sends due mails one after the other, each written when it is sent.

    A one-time link is created when its mail is written, so that the queue contains no links, and its lifetime begins
    then. While the mail server fails, one mail is tried after each pause, and the others wait. An attempt interrupted
    by the end of the agent is repeated after its lease, under the same ``Message-ID``.
    """

    name = "mail-sender"
    every_seconds = 1.0
    join_seconds = 5.0
    failing = "mails are not sent"
    recovered = "sending mails again"

    def __init__(self) -> None:
        super().__init__()
        self._server_log = ProblemLog(logging.getLogger(__name__), "agent: ", "the mail server accepts mails again")
        self._pause_seconds = 0.0
        self._paused_until = float("-inf")

    def _work(self) -> None:
        while settings.GATEWALL_MAIL_SERVER is not None and time.monotonic() >= self._paused_until:
            if self._stop.is_set():
                return
            mail = queue.claim(timezone.now())
            if mail is None:
                return
            self._send(mail)

    def _is_idle(self) -> bool:
        return settings.GATEWALL_MAIL_SERVER is None or not queue.is_waiting()

    def _send(self, mail: Mail) -> None:
        if not queue.is_wanted(mail):
            queue.discard(mail)
            return
        sent = self._attempt(mail)
        queue.settle(mail, sent, timezone.now())
        self._pause_if(sent)

    def _attempt(self, mail: Mail) -> Sent:
        user, sender, server = mail.user, settings.GATEWALL_MAIL_SENDER, settings.GATEWALL_MAIL_SERVER
        if user is None or sender is None or server is None:  # checked by the callers
            return Sent("no mail is configured, or the user was deleted", is_final=True)
        try:
            message = letters.write(mail, link=_link(mail))
        except ValueError:  # a stored address that no header may contain
            return Sent("the address of the user is not valid", is_final=True)
        return smtp.send(server, message, sender=sender.address, recipient=user.email, seconds=SECONDS)

    def _pause_if(self, sent: Sent) -> None:
        """Pause after a failure of the server, twice as long as the last time."""
        if not sent.is_of_server:
            self._pause_seconds = 0.0
            self._server_log.say("")
            return
        first, longest = (pause.total_seconds() for pause in PAUSES)
        self._pause_seconds = min(longest, self._pause_seconds * 2 or first)
        self._paused_until = time.monotonic() + self._pause_seconds
        self._server_log.say(f"mails wait: {sent.failure}")


def _link(mail: Mail) -> str:
    """Return the one-time link of the mail, which replaces the user's earlier one; empty for a notice."""
    purpose = _PURPOSES.get(MailKind(mail.kind))
    if purpose is None or mail.user is None:
        return ""
    may_rename = bool(mail.detail.get("choose_username"))
    issued = links.issue(
        mail.user, purpose, at=timezone.now(), created_by=str(mail.detail.get("actor") or ""), may_rename=may_rename
    )
    return links.url_of(issued, str(settings.GATEWALL_PUBLIC_URL))
