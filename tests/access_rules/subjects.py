"""Subjects: who is proved by the credentials of a request, where they may enter, and which factors they proved."""

from tests.access_rules.conditions import Subject, is_live
from tests.access_rules.shapes import Credential, Group, License, Policy, Request, User

SECOND_FACTORS = {"otp", "mfa"}
PHISHING_RESISTANT = "phr"


def first_valid(policy: Policy, request: Request) -> Subject | None:
    """The subject of the first credential that is valid."""
    for credential in request["credentials"]:
        subject = None if credential["forged"] else _proved(policy, credential, request["at"])
        if subject is not None:
            return subject
    return None


def _proved(policy: Policy, credential: Credential, at: str) -> Subject | None:
    name = credential["name"]
    if credential["kind"] == "session":
        return _as_user(policy, name, "session", frozenset(credential["amr"]))
    if credential["kind"] == "git-token":
        users = [
            token["user"]
            for token in policy["git_tokens"]
            if token["name"] == name and is_live(token["expires_at"], at)
        ]
        return _as_user(policy, users[0], "git-token", frozenset()) if users else None
    license_ = _license(policy, name)
    is_valid = license_ is not None and license_["is_active"] and is_live(license_["expires_at"], at)
    return Subject("license", None, name, frozenset(), frozenset()) if is_valid else None


def _as_user(policy: Policy, username: str, kind: str, amr: frozenset[str]) -> Subject | None:
    user = _user(policy, username)
    if user is None or not user["is_active"]:
        return None
    return Subject(kind, username, None, frozenset(user["groups"]), amr)


def may_enter(policy: Policy, subject: Subject, domain: str | None) -> bool:
    """True for admins, and where one of the scopes covers the domain. A host of no domain needs ``all_domains``."""
    user = _user(policy, subject.username)
    if user is not None and user["is_admin"]:
        return True
    return any(scope["all_domains"] or names(scope, domain) for scope in _scopes(policy, subject))


def _scopes(policy: Policy, subject: Subject) -> list[Group | User | License]:
    """The license, or the user and their groups: together they are the scope."""
    groups = [group for group in policy["groups"] if group["name"] in subject.groups]
    own = (_user(policy, subject.username), _license(policy, subject.license))
    return [scope for scope in (*own, *groups) if scope is not None]


def proved_enough(policy: Policy, subject: Subject, domain: str | None, access: str) -> bool:
    """True if a session has the factors for this access.

    A machine has none: it passes ``two_factor`` where its scope names the domain, and never ``phishing_resistant``.
    """
    if access == "authenticated":
        return True
    if access == "phishing_resistant":
        return PHISHING_RESISTANT in subject.amr
    if subject.kind == "session":
        return not SECOND_FACTORS.isdisjoint(subject.amr)
    return any(names(scope, domain) for scope in _scopes(policy, subject))


def names(scope: Group | User | License, domain: str | None) -> bool:
    """True if the scope names this registered domain. Its list is not used beside ``all_domains``."""
    return not scope["all_domains"] and domain in scope["authorized_domains"]


def _user(policy: Policy, username: str | None) -> User | None:
    return next((user for user in policy["users"] if user["username"] == username), None)


def _license(policy: Policy, name: str | None) -> License | None:
    return next((each for each in policy["licenses"] if each["name"] == name), None)
