"""The steps and reasons of a decision, and the objects of the policy, in words for operators."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

STEPS = {
    "request-is-malformed": _("The proxy's question is malformed"),
    "client-is-blocked": _("The address is on the blocklist"),
    "host-is-not-authorized": _("The host is not registered, or is shut"),
    "client-is-allowed": _("The address is on the allowlist"),
    "country-is-blocked": _("The country is blocked"),
    "waf-rules-match": _("WAF rules match"),
    "inspected-client-is-allowed": _("The address is on the allowlist, and WAF rules had no objection"),
    "client-is-over-rate": _("The address asks too often"),
    "host-is-public": _("The host is public"),
    "credential-is-missing": _("No credential was sent"),
    "credential-is-invalid": _("No credential that was sent is valid"),
    "host-is-not-in-scope": _("The user may not enter this host"),
    "second-factor-is-missing": _("The host asks for a second factor"),
    "subject-is-valid": _("The user is signed in"),
}
REASONS = {
    "request-malformed": _("The question could be read in two ways."),
    "client-blocked": _("The address is on the blocklist."),
    "host-not-authorized": _("The host is not registered, or its access is denied."),
    "client-allowed": _("The address is on the allowlist."),
    "country-blocked": _("The country of the address is blocked."),
    "waf-rule": _("WAF rules found an attack."),
    "client-rate-limited": _("The address asked more often than the settings allow."),
    "host-public": _("The host is open to everybody."),
    "credential-missing": _("Nobody was signed in."),
    "credential-invalid": _("What was sent to sign in is not valid, or not any more."),
    "host-not-in-scope": _("Whoever was signed in may not enter this host."),
    "second-factor-required": _("The host asks for a second factor, and the session has none."),
    "session-valid": _("A user was signed in."),
    "git-token-valid": _("A git token was valid."),
    "license-valid": _("A license was valid."),
    "cannot-decide": _("The gate could not decide."),
}
OUTCOMES = {
    "allow": _("let through"),
    "challenge": _("asked to sign in"),
    "deny": _("refused"),
    "error": _("no answer"),
}
MISSING = {
    "request": _("what was asked is not recorded"),
    "credential": _("what was sent to sign in is not recorded"),
    "request-rate": _("how many other requests there were is not recorded"),
    "waf-rules": _("the parts that WAF rules look at are not recorded"),
}
ASSUMED = {
    "credential": _("what was sent to sign in still proves whom it proved then"),
    "request-rate": _("the address asks as often as it did then"),
    "waf-rules": _("rules that have not changed say what they said then"),
}
RESOURCES = {
    "ip-black-list": _("blocklist entry"),
    "ip-white-list": _("allowlist entry"),
    "waf-rules": _("WAF rule"),
    "authorized-domains": _("domain"),
    "geo-block-rules": _("blocked country"),
    "licenses": _("license"),
    "users": _("user"),
    "users/git-tokens": _("git token"),
    "system/settings": _("settings"),
    "list-subscriptions": _("list subscription"),
    "webhooks": _("webhook"),
}
KINDS = {"user": _("user"), "license": _("license"), "git-token": _("git token")}
ACTIONS = {"created": _("added"), "changed": _("changed"), "deleted": _("removed")}
FORMS = {"as-sent": _("as sent"), "decoded": _("decoded"), "rewritten": _("rewritten")}
LIFETIMES = {"hour": _("1 hour"), "day": _("1 day"), "month": _("30 days")}


def kind_of(subject: str) -> str | Promise:
    """Return what a kind of subject is called."""
    return KINDS.get(subject, subject)
