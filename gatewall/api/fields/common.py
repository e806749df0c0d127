"""Fields that many resources have."""

from typing import Any, NamedTuple


class Words(NamedTuple):
    """Description of a field and an example value, None if a made-up value would mislead."""

    text: str
    example: Any = None


COMMON = {
    "id": Words("Number of the row, as in its path.", 7),
    "name": Words("Name, as people and messages show it.", "backup server"),
    "remark": Words("Free text for operators; no decision reads it.", "until the migration is over"),
    "enabled": Words("Whether it is in force; a disabled one stays in the list.", True),
    "created_at": Words("When it was created.", "2026-03-02T08:15:30Z"),
    "created_by": Words("User name of who created it, or the command that did.", "admin"),
    "expires_at": Words("When it ends by itself, without any process running; null: never.", "2030-01-01T00:00:00Z"),
    "start_time": Words("Start of the time window, inclusive.", "2026-03-01T00:00:00Z"),
    "end_time": Words("End of the time window, exclusive.", "2026-03-02T00:00:00Z"),
    "started_at": Words("When the work on it began; null before.", "2026-03-02T08:16:00Z"),
    "finished_at": Words("When the work on it ended; null before.", "2026-03-02T08:16:21Z"),
    "count": Words("How many there are.", 42),
    "total": Words("Sum of all outcomes in the window.", 12_480),
    "next": Words("Address of the next page; null on the last one."),
    "previous": Words("Address of the previous page; null on the first one."),
    "results": Words("The rows of this page."),
    "description": Words("Free text for people.", "Everybody in accounting"),
    "title": Words("Short title.", "Nextcloud"),
    "failure": Words("Why it failed; empty if it did not.", ""),
    "warnings": Words("What an operator should know of the result, a sentence each."),
    "force": Words(
        "Do it although your own address or an admin would be refused: the change must be confirmed then.", False
    ),
    "policy_pending": Words("True: not in force in every worker of this host within two seconds.", False),
    "confirm_by": Words("The change locks you out: it is reverted then unless you confirm its revision."),
    "confirmed_by": Words("User name of who confirmed the change.", "admin"),
    "confirmed_at": Words("When the change was confirmed.", "2026-03-02T08:20:00Z"),
    "code": Words("Code of the authenticator app, or a recovery code.", "492 039"),
    "password": Words("Password of the caller, or a code instead, unless the sign-in is younger than ten minutes."),
    "current_password": Words("Password of the caller, unless the sign-in is younger than ten minutes."),
    "token": Words("The secret, shown this once; only its digest is kept."),
    "prefix": Words("The token's first characters, by which it is recognized.", "gwg_4fT9"),
    "url": Words("Address with scheme.", "https://hooks.example.com/gatewall"),
    "status": Words("HTTP status.", 403),
    "kinds": Words("Kinds of security events that are sent; an empty list: all kinds.", []),
    "slug": Words("Name in addresses.", "keycloak"),
    "revision": Words("Number of the policy revision.", 118),
    "policy_revision": Words("Number of the policy revision that decided.", 118),
    "number": Words("Number of the revision; each change of policy has the next one.", 118),
    "actor": Words("User name, token or command that changed the policy.", "admin"),
    "complete": Words("False if there was more to read than the limit of time or rows.", True),
    "least_severity": Words("Events below this severity are not sent.", "medium"),
    "allow_private": Words("Whether addresses of private networks may be called.", False),
    "problem": Words("What keeps it from working; empty if all is well.", ""),
    "digest": Words("SHA-256 of what was shown, to apply that and nothing else."),
    "message": Words("A sentence for people."),
    "Problem.code": Words("Stable code of the problem, for programs.", "scope-missing"),
    "Problem.type": Words("Stable code of the problem as a URN, for programs."),
    "Problem.title": Words("What kind of problem it is.", "Forbidden"),
    "Problem.detail": Words("What happened, and what can be done.", "The token does not have the scope policy:write."),
    "Problem.errors": Words("All faults of the input, each with its field."),
}
