"""Texts of each system setting on its page: its label, its unit, its choices, and when it takes effect."""

from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

_DECISION = _("In force on every host within two seconds of saving.")
_NEXT_SIGN_IN = _("From the next sign-in on.")
_NEXT_PAGE = _("From the next page on.")
_AGENT = _("The agent reads it every few seconds.")
_HOURS, _DAYS, _MINUTES, _SECONDS = _("hours"), _("days"), _("minutes"), _("seconds")
_FAILURES, _ACCOUNTS, _REQUESTS_A_MINUTE = _("failed sign-ins"), _("accounts"), _("requests a minute")


@dataclass(frozen=True, slots=True)
class SettingWords:
    """The words of one setting. ``choices`` are labels by value; a ``unit`` follows its input."""

    label: Promise
    effect: Promise
    unit: Promise | str = ""
    choices: "dict[str, Promise]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """A group of settings on the page, with the anchor that links lead to."""

    anchor: str
    title: Promise
    lead: Promise
    settings: dict[str, SettingWords]


GROUPS = (
    SettingGroup(
        "requests",
        _("Requests and hosts"),
        _("What the gate does with every request, before and after it knows who asks."),
        {
            "authorized_domains_mode": SettingWords(
                _("Hosts that are not registered"),
                _DECISION,
                choices={"any": _("Treat them like any other host"), "registered": _("Refuse them")},
            ),
            "request_rate_per_minute": SettingWords(_("Request rate of one client"), _DECISION, _REQUESTS_A_MINUTE),
            "signed_identity": SettingWords(
                _("Signed identity for sites"),
                _DECISION,
                choices={"off": _("Off"), "EdDSA": _("EdDSA (Ed25519)"), "ES256": _("ES256 (P-256)")},
            ),
        },
    ),
    SettingGroup(
        "waf",
        _("WAF"),
        _("The web application firewall looks for attacks in requests."),
        {
            "waf_mode": SettingWords(
                _("WAF mode"),
                _DECISION,
                choices={
                    "block": _("Refuse attacks, and record them"),
                    "monitor": _("Only record what would be refused"),
                    "off": _("Off"),
                },
            ),
            "waf_threshold": SettingWords(_("Score at which requests are refused"), _DECISION, _("points")),
        },
    ),
    SettingGroup(
        "countries",
        _("Countries"),
        _("What happens to requests from blocked countries. The list of blocked countries says which they are."),
        {
            "geo_mode": SettingWords(
                _("Requests from blocked countries"),
                _DECISION,
                choices={
                    "block": _("Refuse them"),
                    "monitor": _("Monitor: let them through"),
                    "off": _("Off: let them through"),
                },
            ),
            "unknown_country": SettingWords(
                _("Addresses of no known country"),
                _DECISION,
                choices={"allow": _("Let them through"), "block": _("Refuse them")},
            ),
        },
    ),
    SettingGroup(
        "sign-in",
        _("Sign-in and API"),
        _("How long people stay signed in, and how guessing of passwords is slowed down."),
        {
            "session_hours": SettingWords(
                _("Session lifetime"), _("New sessions only: those that exist keep their end."), _HOURS
            ),
            "remember_device_days": SettingWords(
                _("Remembered browsers"), _("A lower number holds at once for browsers that are remembered."), _DAYS
            ),
            "login_failures_per_account_and_network": SettingWords(
                _("Failures on one account from one network"), _NEXT_SIGN_IN, _FAILURES
            ),
            "login_failures_per_network": SettingWords(_("Failures from one network"), _NEXT_SIGN_IN, _FAILURES),
            "login_failures_per_account": SettingWords(_("Failures on one account"), _NEXT_SIGN_IN, _FAILURES),
            "login_failure_window_minutes": SettingWords(_("Failures are counted over"), _NEXT_SIGN_IN, _MINUTES),
            "login_delay_seconds": SettingWords(_("First delay"), _NEXT_SIGN_IN, _SECONDS),
            "recovery_local_only": SettingWords(
                _("Recover an administrator from this machine alone"), _("From the next recovery on.")
            ),
            "api_requests_per_minute": SettingWords(
                _("API rate"), _("From the next API request on."), _REQUESTS_A_MINUTE
            ),
        },
    ),
    SettingGroup(
        "log",
        _("Access log and events"),
        _("What is recorded, and for how long. Deleted rows cannot be restored."),
        {
            "access_log_retention_days": SettingWords(
                _("Keep the access log"), _("The agent deletes older rows within the hour."), _DAYS
            ),
            "access_log_max_bytes": SettingWords(
                _("Size of the access log"), _("The agent makes room at its next measurement."), "MiB"
            ),
            "event_retention_days": SettingWords(
                _("Keep security events"), _("The agent deletes older rows within the hour."), _DAYS
            ),
            "log_query_strings": SettingWords(
                _("Query strings in the log"),
                _("New records only: those that exist stay as they are."),
                choices={"masked": _("Keep them, with secrets masked"), "off": _("Leave them out")},
            ),
            "audit_mode": SettingWords(
                _("If a request cannot be recorded"),
                _DECISION,
                choices={
                    "best-effort": _("Answer it, and count the lost record"),
                    "strict": _("Refuse it with status 503"),
                },
            ),
        },
    ),
    SettingGroup(
        "detectors",
        _("Detectors"),
        _("Which clients are treated as attackers, and what happens to them."),
        {
            "auto_ban_mode": SettingWords(
                _("Attackers"),
                _AGENT,
                choices={
                    "block": _("Ban their network"),
                    "monitor": _("Only record an event"),
                    "off": _("Do not look for them"),
                },
            ),
            "auto_ban_minutes": SettingWords(
                _("A ban lasts"), _("New bans only: those in force keep their end."), _MINUTES
            ),
            "detector_window_minutes": SettingWords(_("Attacks are counted over"), _AGENT, _MINUTES),
            "brute_force_failures": SettingWords(_("Guessed passwords"), _AGENT, _FAILURES),
            "stuffing_accounts": SettingWords(_("Accounts tried by one network"), _AGENT, _ACCOUNTS),
            "stuffing_accounts_overall": SettingWords(_("Accounts tried by all clients together"), _AGENT, _ACCOUNTS),
            "probing_targets": SettingWords(_("Refused targets"), _AGENT, _("paths and hosts")),
            "probing_rules": SettingWords(_("WAF rules that refused"), _AGENT, _("rules")),
        },
    ),
    SettingGroup(
        "notices",
        _("Webhooks and mail"),
        _("What is sent to other systems, and to users."),
        {
            "webhook_incident_minutes": SettingWords(
                _("An incident ends after"), _("From the next event on."), _MINUTES
            ),
            "webhook_notices_per_hour": SettingWords(
                _("Notices to one webhook"), _("From the next notice on."), _("notices an hour")
            ),
            "webhook_retention_days": SettingWords(
                _("Keep notices"), _("The agent deletes older ones within the hour."), _DAYS
            ),
            "account_notices": SettingWords(_("Tell users about their account by mail"), _("From the next mail on.")),
            "mail_language": SettingWords(
                _("Language of mails"),
                _("From the next mail on."),
                choices={"en": _("English"), "zh-hans": _("Simplified Chinese")},
            ),
        },
    ),
    SettingGroup(
        "availability",
        _("Availability"),
        _("What happens while the database is away, and what the shadow policy may cost."),
        {
            "stale_policy": SettingWords(
                _("If the policy is too old"),
                _DECISION,
                choices={"static": _("Keep deciding by it"), "strict": _("Refuse requests with status 503")},
            ),
            "stale_policy_seconds": SettingWords(_("A policy is too old after"), _DECISION, _SECONDS),
            "shadow_cpu_percent": SettingWords(_("CPU time of the shadow policy"), _AGENT, "%"),
        },
    ),
    SettingGroup(
        "visitors",
        _("Visitor pages"),
        _(
            "What visitors read on the sign-in page and when they are refused. A logo is the file logo.svg or "
            "logo.png, of at most 64 KiB, in the folder of GATEWALL_HOME."
        ),
        {
            "guard_message": SettingWords(_("Text on the sign-in page"), _NEXT_PAGE),
            "contact": SettingWords(_("Contact"), _NEXT_PAGE),
            "site_name": SettingWords(_("Name of the installation"), _NEXT_PAGE),
            "theme_color": SettingWords(_("Color of buttons"), _NEXT_PAGE),
        },
    ),
)
WORDS = {name: words for group in GROUPS for name, words in group.settings.items()}
