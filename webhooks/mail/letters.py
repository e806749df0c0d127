"""Write the mails to users: one text per kind, as plain text and as HTML without external resources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from gatewall.engine.devices import recognized
from gatewall.policy import system_settings
from webhooks.models import Mail, MailKind


@dataclass(frozen=True, slots=True)
class Letter:
    """Subject and paragraphs of a mail; ``button`` is the label of the link, ``path`` its target below our root."""

    subject: str
    before: Sequence[str]
    button: str = ""
    after: Sequence[str] = ()
    path: str = "/account"


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts about the event, for the texts."""

    host: str
    user: str
    when: str
    address: str
    device: str
    codes: int
    may_choose_name: bool
    provider: str
    days: int
    site: str
    asker: str
    request: int
    decision: str

    @property
    def where(self) -> str:
        parts = [_("Time: %(when)s UTC.") % {"when": self.when}]
        if self.address:
            parts.append(_("Address: %(address)s.") % {"address": self.address})
        if self.device:
            parts.append(_("Program: %(device)s.") % {"device": self.device})
        return " ".join(parts)


def write(mail: Mail, *, link: str = "") -> EmailMessage:
    """Return the mail with this link, by default the link to one of our pages. Raises ValueError for a bad address."""
    language, contact = system_settings.current().mail_language, system_settings.current().contact
    with translation.override(language):
        letter = _TEXTS[MailKind(mail.kind)](_facts(mail))
        url = link or f"{settings.GATEWALL_PUBLIC_URL}{settings.ROOT_PATH}{letter.path}"
        words = {"letter": letter, "url": url, "language": language, "contact": contact, "host": _host()}
        text = render_to_string("mail/letter.txt", words)
        page = render_to_string("mail/letter.html", words)
    return _message(mail, letter.subject, text, page, language)


def _message(mail: Mail, subject: str, text: str, page: str, language: str) -> EmailMessage:
    sender, user = settings.GATEWALL_MAIL_SENDER, mail.user
    if user is None or sender is None:
        raise ValueError("a mail to nobody, or from nobody")
    message = EmailMessage()
    message["From"] = Address(sender.name, addr_spec=sender.address)
    message["To"] = Address(user.username, addr_spec=user.email)
    message["Subject"] = subject
    message["Date"] = format_datetime(timezone.now())
    message["Message-ID"] = f"<{mail.pk}@{sender.domain}>"  # the same at each attempt, so that readers see it once
    message["Auto-Submitted"] = "auto-generated"  # no out-of-office reply (RFC 3834)
    message["Content-Language"] = language
    message.set_content(text, cte="quoted-printable")
    message.add_alternative(page, subtype="html", cte="quoted-printable")
    return message


def _facts(mail: Mail) -> _Facts:
    detail = mail.detail
    return _Facts(
        host=_host(),
        user=mail.user.username if mail.user else "",
        when=_moment(mail.at),
        address=str(detail.get("client_ip") or ""),
        device=recognized(str(detail.get("user_agent") or "")),
        codes=int(detail.get("wrong_codes") or 0),
        may_choose_name=bool(detail.get("choose_username")),
        provider=str(detail.get("provider") or ""),
        days=int(detail.get("days") or 0),
        site=str(detail.get("host") or ""),
        asker=str(detail.get("asker") or ""),
        request=int(detail.get("request") or 0),
        decision=str(detail.get("decision_id") or ""),
    )


def _host() -> str:
    return urlsplit(settings.GATEWALL_PUBLIC_URL or "").netloc


def _moment(at: datetime) -> str:
    return date_format(at.astimezone(UTC), "Y-m-d H:i")


def _invitation(facts: _Facts) -> Letter:
    name = (
        _("Your user name is %(user)s; you can choose another one.")
        if facts.may_choose_name
        else _("Your user name is %(user)s.")
    )
    return Letter(
        _("Your invitation to %(host)s") % {"host": facts.host},
        (
            _("An administrator created an account for you at %(host)s.") % {"host": facts.host},
            name % {"user": facts.user},
        ),
        _("Choose a password"),
        (
            _("The link works once, within 72 hours."),
            _("If you do not know this site, ignore this mail."),
        ),
    )


def _password_reset(facts: _Facts) -> Letter:
    return Letter(
        _("A new password for %(user)s") % {"user": facts.user},
        (
            _("Somebody asked for a new password for the account %(user)s at %(host)s.")
            % {"user": facts.user, "host": facts.host},
        ),
        _("Choose a new password"),
        (
            _("The link works once, within 30 minutes. Then you are signed out on all devices."),
            _("If it was not you, ignore this mail: your password stays as it is."),
        ),
    )


def _notice(subject: str, what: str, facts: _Facts) -> Letter:
    return Letter(
        subject,
        (what, facts.where, _("Was this you? Then there is nothing to do.")),
        _("Open your account"),
        (
            _(
                "If it was not you, change your password there, sign out on all devices, and tell your administrator. "
                "If you cannot sign in any more, ask your administrator for help."
            ),
        ),
    )


def _new_device(facts: _Facts) -> Letter:
    what = _("Somebody signed in to your account %(user)s at %(host)s with a browser that has not been used before.")
    return _notice(_("New sign-in to your account"), what % {"user": facts.user, "host": facts.host}, facts)


def _factor_added(facts: _Facts) -> Letter:
    what = _("A second factor was added to your account %(user)s at %(host)s.")
    return _notice(_("Second factor added"), what % {"user": facts.user, "host": facts.host}, facts)


def _factor_removed(facts: _Facts) -> Letter:
    what = _("A second factor was removed from your account %(user)s at %(host)s.")
    return _notice(_("Second factor removed"), what % {"user": facts.user, "host": facts.host}, facts)


def _password_changed(facts: _Facts) -> Letter:
    what = _("The password of your account %(user)s at %(host)s was changed.")
    return _notice(_("Password changed"), what % {"user": facts.user, "host": facts.host}, facts)


def _wrong_codes(facts: _Facts) -> Letter:
    what = _(
        "Somebody who knows the password of your account %(user)s at %(host)s entered a wrong code %(codes)d times in "
        "a row."
    )
    values = {"user": facts.user, "host": facts.host, "codes": facts.codes}
    return _notice(_("Many wrong codes for your account"), what % values, facts)


def _device_remembered(facts: _Facts) -> Letter:
    what = _(
        "A browser is remembered for your account %(user)s at %(host)s: for %(days)d days it is asked for the "
        "password, but not for the second factor."
    )
    values = {"user": facts.user, "host": facts.host, "days": facts.days}
    return _notice(_("A browser is remembered for your account"), what % values, facts)


def _identity_linked(facts: _Facts) -> Letter:
    what = _("An account at %(provider)s was linked to your account %(user)s at %(host)s: it can sign in now.")
    values = {"user": facts.user, "host": facts.host, "provider": facts.provider}
    return _notice(_("Account linked"), what % values, facts)


def _identity_unlinked(facts: _Facts) -> Letter:
    what = _("An account at %(provider)s was unlinked from your account %(user)s at %(host)s.")
    values = {"user": facts.user, "host": facts.host, "provider": facts.provider}
    return _notice(_("Account unlinked"), what % values, facts)


def _access_requested(facts: _Facts) -> Letter:
    values = {"asker": facts.asker, "site": facts.site}
    return Letter(
        _("%(asker)s asks for access to %(site)s") % values,
        (_("%(asker)s was refused at %(site)s and asks for access.") % values, facts.where),
        _("Look at the request"),
        (_("All administrators get this mail. The request waits for seven days."),),
        f"/admin/access-requests/{facts.request}/",
    )


def _access_granted(facts: _Facts) -> Letter:
    values = {"site": facts.site}
    return Letter(
        _("You have access to %(site)s") % values,
        (_("An administrator gave you the access to %(site)s that you asked for.") % values,),
        _("Open your request"),
        (_("Access ends automatically."),),
        f"/ask/{facts.decision}",
    )


def _access_refused(facts: _Facts) -> Letter:
    values = {"site": facts.site}
    return Letter(
        _("Your request for %(site)s was refused") % values,
        (_("An administrator declined your request for access to %(site)s.") % values,),
        _("Open your request"),
        (_("The page has the answer of the administrator, if they wrote one."),),
        f"/ask/{facts.decision}",
    )


_TEXTS: Mapping[MailKind, Callable[[_Facts], Letter]] = {
    MailKind.INVITATION: _invitation,
    MailKind.PASSWORD_RESET: _password_reset,
    MailKind.NEW_DEVICE: _new_device,
    MailKind.FACTOR_ADDED: _factor_added,
    MailKind.FACTOR_REMOVED: _factor_removed,
    MailKind.PASSWORD_CHANGED: _password_changed,
    MailKind.WRONG_CODES: _wrong_codes,
    MailKind.DEVICE_REMEMBERED: _device_remembered,
    MailKind.IDENTITY_LINKED: _identity_linked,
    MailKind.IDENTITY_UNLINKED: _identity_unlinked,
    MailKind.ACCESS_REQUESTED: _access_requested,
    MailKind.ACCESS_GRANTED: _access_granted,
    MailKind.ACCESS_REFUSED: _access_refused,
}
