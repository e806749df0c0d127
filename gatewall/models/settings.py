"""The system settings: one row. A setting is one column of ``SettingsColumns``; everything else is derived from it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.snapshot import EnforcementMode, PolicySettings
from gatewall.kernel.changes import Recorded, Resource

_POLICY = PolicySettings()
"""The defaults of the settings that the decision reads."""


THEME_COLOR = "^#[0-9a-fA-F]{6}$"
"""Pattern of a color."""


class MailLanguage(StrEnum):
    """Languages of mails."""

    ENGLISH = "en"
    CHINESE = "zh-hans"


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """Return the choices of a field for the values of this enum."""
    return [(member.value, member.value.replace("_", " ").replace("-", " ")) for member in enum]


def within(low: int, high: int) -> list[BaseValidator]:
    """Return the validators of a number between two others."""
    return [MinValueValidator(low), MaxValueValidator(high)]


def small(
    default: int, low: int, high: int, help_text: str, **options: Any
) -> "models.PositiveSmallIntegerField[Any, int]":
    """Return the column of a setting that is a number within these bounds, up to 32,767."""
    validators = within(low, high)
    return models.PositiveSmallIntegerField(default=default, validators=validators, help_text=help_text, **options)


def number(
    default: int, low: int, high: int, help_text: str, **options: Any
) -> "models.PositiveIntegerField[Any, int]":
    """Return the column of a setting that is a number within these bounds."""
    return models.PositiveIntegerField(default=default, validators=within(low, high), help_text=help_text, **options)


def one_of(default: StrEnum, help_text: str, **options: Any) -> "models.CharField[Any, str]":
    """Return the column of a setting that has one of the values of an enum."""
    return models.CharField(
        max_length=16, choices=choices(type(default)), default=default.value, help_text=help_text, **options
    )


def bounds(column: "models.Field[Any, Any]") -> tuple[int, int]:
    """Return the least and the greatest value of a setting that is a number."""
    low, high = column.deconstruct()[3]["validators"]
    return low.limit_value, high.limit_value


class SettingsColumns(models.Model):
    """The system settings: each line is the only place of a setting's default, bounds and help text.

    The API, the admin, the constraints of the table and ``docs/configuration.md`` are derived from it. The decision
    reads the settings of ``PolicySettings``, by the same names. A new one needs a ``db_default``, as every new column.
    """

    authorized_domains_mode = one_of(
        _POLICY.authorized_domains_mode,
        "Whether requests for hosts that are not registered domains are decided like any others (`any`) or "
        "refused (`registered`). Registering the first domain sets `registered`; deleting the last one does not set it "
        "back.",
    )
    waf_mode = one_of(
        _POLICY.waf_mode,
        "Whether matches of WAF rules refuse requests (`block`), are only recorded (`monitor`), or no rule "
        "runs (`off`).",
    )
    waf_threshold = small(_POLICY.waf_threshold, 1, 100, "The score of one category at which a request is refused.")
    geo_mode = one_of(_POLICY.geo_mode, "Whether requests from blocked countries are refused; only `block` refuses.")
    unknown_country = one_of(
        _POLICY.unknown_country, "Whether public addresses whose country is not known are let through or refused."
    )
    request_rate_per_minute = number(
        _POLICY.request_rate_per_minute,
        0,
        1_000_000,
        "Requests that one client (an IPv4 address or an IPv6 /64) may make in a sliding minute, counted on "
        "each host; 0 is off.",
    )
    signed_identity = one_of(
        _POLICY.signed_identity,
        "Whether sites get the identity of a visitor as a signed token in `X-Gatewall-Identity`, and by which "
        "algorithm: `EdDSA` (Ed25519) or `ES256`; `off` sends none. The public keys are at `/.well-known/jwks.json`.",
        db_default=_POLICY.signed_identity.value,
    )
    session_hours = small(24, 1, 8760, "How long new sessions last, in hours.")
    remember_device_days = small(
        0,
        0,
        365,
        "For how many days a remembered browser skips the second factor at sign-in; 0 turns this off. Sites that "
        "require two factors still ask for it.",
        db_default=0,
    )
    login_failures_per_account_and_network = number(
        10, 1, 1_000, "Failed sign-ins to one account from one network before further attempts must wait."
    )
    login_failures_per_network = number(
        100,
        1,
        100_000,
        "Failed sign-ins to all accounts from one network (an IPv4 address, or an IPv6 /64, /56 or /48; four times as "
        "many from an IPv4 /24) before further attempts must wait.",
    )
    login_failures_per_account = number(
        1000, 1, 100_000, "Failed sign-ins to one account from all networks before further attempts must wait."
    )
    login_failure_window_minutes = small(
        15, 1, 1440, "How long failures are counted together, and how long after a delay they are forgotten."
    )
    login_delay_seconds = small(
        30,
        1,
        3600,
        "The first delay; it doubles with each further failure, up to an hour. Wrong codes are delayed in the "
        "same way.",
    )
    api_requests_per_minute = number(
        1200,
        60,
        1_000_000,
        "API requests of one user (tokens of the guard page are counted separately), or of one network that "
        "is not signed in, including the forms of the visitor pages.",
    )
    access_log_retention_days = small(30, 1, 3650, "How long rows of the access log and their counts by time are kept.")
    access_log_max_bytes = models.BigIntegerField(
        default=5 * 2**30,
        db_default=5 * 2**30,
        validators=within(2**26, 2**50),
        help_text="How many bytes the rows of the access log may take in the database (default 5 GiB; from 64 MiB to 1 "
        "PiB). Above it, refused rows are folded, then the oldest are deleted.",
    )
    event_retention_days = small(90, 1, 3650, "How long security events are kept.")
    auto_ban_mode = one_of(
        EnforcementMode.BLOCK,
        "What detectors do with an attacker: ban the network (`block`), record `client.suspected` without a "
        "ban (`monitor`), or nothing (`off`).",
    )
    auto_ban_minutes = number(60, 1, 43_200, "How long a network is banned.")
    detector_window_minutes = small(10, 1, 60, "The time within which the following limits must be reached.")
    brute_force_failures = small(20, 5, 500, "Failed sign-ins of one network at which it counts as an attacker.")
    stuffing_accounts = small(10, 3, 500, "Accounts that one network fails to sign in to.")
    stuffing_accounts_overall = small(
        100,
        10,
        10_000,
        "Accounts that all clients together fail to sign in to: an attack, during which three accounts of one "
        "network are enough.",
    )
    probing_targets = small(
        20,
        5,
        500,
        "Different paths and hosts at which one network is refused, by at least two rules, hosts or as malformed.",
    )
    probing_rules = small(
        5, 3, 100, "Different WAF rules that refuse one network, at three paths or more, and not always together."
    )
    webhook_incident_minutes = small(15, 1, 1440, "How long it must be quiet before an incident has ended.")
    webhook_notices_per_hour = number(
        100,
        1,
        10_000,
        "How many notices one webhook is sent. Further ones are left out and counted (`left_out`); ends are "
        "always sent.",
    )
    webhook_retention_days = small(30, 1, 365, "How long notices are kept, including failed ones.")
    account_notices = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Whether users get a mail about a sign-in from a new device, a second factor that was added or "
        "removed, a remembered browser, a linked account, a changed password, and many wrong codes, if mail is "
        "configured and they have an e-mail address.",
    )
    mail_language = one_of(
        MailLanguage.ENGLISH, "The language of mails to users.", db_default=MailLanguage.ENGLISH.value
    )
    audit_mode = one_of(
        _POLICY.audit_mode,
        "The answer while the spool cannot be written: the decision, with its record counted as lost "
        "(`best-effort`), or 503 `cannot-decide`, which proxies refuse (`strict`).",
    )
    log_query_strings = one_of(
        _POLICY.log_query_strings,
        "What the access log keeps of query strings: everything but secrets (`masked`), or only `***` where "
        "there was one (`off`).",
    )
    stale_policy = one_of(
        _POLICY.stale_policy,
        "The answer under a policy that was not compared with the database for too long: the decision "
        "(`static`), or 503 `cannot-decide`, which proxies refuse (`strict`).",
        db_default=_POLICY.stale_policy.value,
    )
    stale_policy_seconds = number(
        _POLICY.stale_policy_seconds,
        15,
        86_400,
        "How old an unconfirmed policy may be in `strict` mode before requests are refused.",
        db_default=_POLICY.stale_policy_seconds,
    )
    shadow_cpu_percent = small(
        25,
        1,
        100,
        "How much CPU time the shadow policy may take, in percent of what answering takes. Above it, fewer requests "
        "are evaluated.",
        db_default=25,
    )
    recovery_local_only = models.BooleanField(
        default=True, help_text="Whether `/admin-recover-2fa` answers only callers on this machine."
    )
    guard_message = models.CharField(max_length=500, blank=True, help_text="A text on the sign-in page.")
    contact = models.CharField(
        max_length=200, blank=True, help_text="Contact for visitors who are refused; shown on every visitor page."
    )

    site_name = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text="The name of the installation, at the top of every visitor page.",
    )
    theme_color = models.CharField(
        max_length=7,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(THEME_COLOR)],
        help_text="The color of the buttons on visitor pages, like `#0b5cad`. Their text is black or white, so that it "
        "can be read.",
    )

    class Meta:
        abstract = True


_BOUNDED_BY_DATABASE = (
    "stale_policy_seconds",
    "access_log_retention_days",
    "access_log_max_bytes",
    "event_retention_days",
    "auto_ban_minutes",
    "waf_threshold",
    "session_hours",
)
"""Numbers whose bounds are also constraints of the table. Every choice has a constraint."""


def _constraints() -> Iterator[models.CheckConstraint]:
    for column in SettingsColumns._meta.fields:  # noqa: SLF001 - Django's documented API
        if column.choices:
            known = models.Q(**{f"{column.name}__in": [value for value, _ in column.choices]})
            yield models.CheckConstraint(condition=known, name=f"{column.name}_is_known")
        elif column.name in _BOUNDED_BY_DATABASE:
            low, high = bounds(column)
            inside = models.Q(**{f"{column.name}__gte": low, f"{column.name}__lte": high})
            yield models.CheckConstraint(condition=inside, name=f"{column.name.removesuffix('_days')}_in_range")


class SystemSettings(SettingsColumns):
    """The settings that operators change while the system runs. One row."""

    recorded = Recorded(
        Resource.SETTINGS,
        {column.name: column.attname for column in SettingsColumns._meta.fields},  # noqa: SLF001 - Django's documented API
    )

    class Meta:
        verbose_name = verbose_name_plural = _("system settings")
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="system_settings_is_one_row"),
            *_constraints(),
        ]

    def __str__(self) -> str:
        return "system settings"

    @classmethod
    def columns(cls) -> "list[models.Field[Any, Any]]":
        """Return the columns of the settings, in their order."""
        return [column for column in cls._meta.concrete_fields if not column.primary_key]
