"""Summary of an access rule: its conditions as short texts, for pages."""

from collections.abc import Iterable, Iterator

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from gatewall.engine.access_rules.rules import PathMatch
from policies.models import AccessRule

_SHOWN = 3


def conditions_of(rule: AccessRule) -> list[str]:
    """Return one text for each condition of the rule, in the active language."""
    return list(_conditions(rule))


def _conditions(rule: AccessRule) -> Iterator[str]:
    plain: tuple[tuple[str, Iterable[str]], ...] = (
        (_("hosts"), (domain.name for domain in rule.domains.all())),
        (_("paths"), (_path(path) for path in rule.paths)),
        (_("methods"), rule.methods),
        (_("networks"), rule.networks),
        (_("countries"), rule.countries),
        (_("networks of AS"), map(str, rule.asns)),
        (_("groups"), (group.name for group in rule.groups.all())),
        (_("users"), (user.username for user in rule.users.all())),
        (_("credentials"), rule.credential_kinds),
    )
    for label, values in plain:
        if text := _first_of(list(values)):
            yield f"{label}: {text}"
    if rule.weekdays or rule.from_time or rule.until_time:
        yield _time(rule)
    if rule.rate_per_minute:
        yield _("at most %(number)s a minute") % {"number": rule.rate_per_minute}
    if rule.app_token_header:
        yield _("app tokens in %(header)s") % {"header": rule.app_token_header}
    if rule.expires_at:
        moment = date_format(timezone.localtime(rule.expires_at), "SHORT_DATETIME_FORMAT")
        ended = rule.expires_at <= timezone.now()
        yield (_("expired %(moment)s") if ended else _("until %(moment)s")) % {"moment": moment}


def _path(path: dict[str, str]) -> str:
    return path["value"].rstrip("/") + "/…" if path["match"] == PathMatch.PREFIX else path["value"]


def _time(rule: AccessRule) -> str:
    days = ", ".join(rule.weekdays)
    hours = f"{rule.from_time or '00:00'}-{rule.until_time or '24:00'}" if rule.from_time or rule.until_time else ""
    return " ".join(part for part in (days, hours, rule.time_zone) if part)


def _first_of(values: list[str]) -> str:
    others = f" +{len(values) - _SHOWN}" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + others
