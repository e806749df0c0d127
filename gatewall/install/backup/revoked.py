"""Remove credentials from a restored database that were revoked after the backup, by the replaced database.

Credentials are cut to what both databases allow: nobody gets more than they have now. Lists and rules are those of the
backup.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db import connection

from gatewall.install.backup import schema
from gatewall.install.backup.archive import Manifest
from gatewall.kernel.changes import Action, Change, Resource
from gatewall.models import PolicyHead, PolicyRevision

_COPIES = {
    "present_user": "SELECT * FROM accounts_user",
    "present_userdomain": "SELECT user_id, authorizeddomain_id FROM accounts_user_authorized_domains",
    "present_usergroup": "SELECT user_id, group_id FROM accounts_user_groups",
    "present_group": "SELECT id, all_domains FROM policies_group",
    "present_groupdomain": "SELECT group_id, authorizeddomain_id FROM policies_group_authorized_domains",
    "present_totp": "SELECT * FROM accounts_totpdevice",
    "present_code": "SELECT user_id, digest FROM accounts_recoverycode",
    "present_wrong": "SELECT * FROM accounts_wrongcodes",
    "present_passkey": "SELECT * FROM accounts_passkey",
    "present_gittoken": "SELECT digest, name FROM licensing_gittoken",
    "present_apptoken": "SELECT id, digest, name, all_domains FROM licensing_apptoken",
    "present_apptokendomain": "SELECT apptoken_id, authorizeddomain_id FROM licensing_apptoken_authorized_domains",
    "present_apitoken": "SELECT digest, name FROM accounts_apitoken",
    "present_license": "SELECT id, digest, name, is_active, all_domains, expires_at FROM licensing_license",
    "present_licensedomain": "SELECT license_id, authorizeddomain_id FROM licensing_license_authorized_domains",
    "present_provider": "SELECT id, enabled, group_map_gives_admin FROM accounts_identityprovider",
    "present_identity": "SELECT provider_id, user_id, issuer, subject FROM accounts_externalidentity",
    "present_sharelink": "SELECT id, digest, name FROM policies_sharelink",
    "present_opening": "SELECT * FROM policies_sharelinkopening",
    "present_blocked": "SELECT network, source, expires_at FROM policies_blocklistentry",
    "present_allowed": "SELECT network, domain_id, expires_at FROM policies_allowlistentry",
}
"""Temporary tables with what the replaced database allows, so that comparing needs no memory."""
_USER = "SELECT 1 FROM present_user p WHERE p.id = accounts_user.id"
_PROVIDER = "SELECT 1 FROM present_provider p WHERE p.id = accounts_identityprovider.id"
_LICENSE = "SELECT 1 FROM present_license p WHERE p.digest = licensing_license.digest"


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Rows of the backup that allow more than the replaced database, and their update; without ``set``, their deletion.

    ``before`` and ``after`` are the recorded fields of the change.
    """

    text: str
    resource: Resource
    table: str
    name: str
    where: str
    set: str = ""
    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)


def _user(text: str, where: str, statement: str, **after: object) -> Cut:
    before = {name: not value for name, value in after.items() if isinstance(value, bool)}
    return Cut(
        text=text,
        resource=Resource.USERS,
        table="accounts_user",
        name="username",
        where=where,
        set=statement,
        before=before,
        after=after,
    )


def _license(text: str, where: str, statement: str, **after: object) -> Cut:
    before = {name: not value for name, value in after.items() if isinstance(value, bool)}
    return Cut(
        text=text,
        resource=Resource.LICENSES,
        table="licensing_license",
        name="name",
        where=where,
        set=statement,
        before=before,
        after=after,
    )


def _tokens(text: str, resource: Resource, table: str, present: str) -> Cut:
    gone = f"NOT EXISTS (SELECT 1 FROM {present} p WHERE p.digest = {table}.digest)"  # noqa: S608 - our own names
    return Cut(text=text, resource=resource, table=table, name="name", where=gone)


CUTS = (
    _user(
        "users stay disabled: they were disabled or deleted after the backup",
        f"is_active AND NOT EXISTS ({_USER} AND p.is_active)",
        "is_active = FALSE",
        is_active=False,
    ),
    _user(
        "users stay without admin rights",
        f"is_admin AND NOT EXISTS ({_USER} AND p.is_admin)",
        "is_admin = FALSE",
        is_admin=False,
    ),
    _user(
        "users stay without the rights of an auditor",
        f"is_auditor AND NOT EXISTS ({_USER} AND p.is_auditor)",
        "is_auditor = FALSE",
        is_auditor=False,
    ),
    _user(
        "users keep the password that they set after the backup",
        f"EXISTS ({_USER} AND p.password <> accounts_user.password)",
        "password = (SELECT p.password FROM present_user p WHERE p.id = accounts_user.id)",
        password="changed",
    ),
    _user(
        "users stay limited to some domains",
        f"all_domains AND EXISTS ({_USER} AND NOT p.all_domains)",
        "all_domains = FALSE",
        all_domains=False,
    ),
    _license(
        "licenses stay disabled: they were disabled or deleted after the backup",
        f"is_active AND NOT EXISTS ({_LICENSE} AND p.is_active)",
        "is_active = FALSE",
        is_active=False,
    ),
    _license(
        "licenses stay limited to some domains",
        f"all_domains AND EXISTS ({_LICENSE} AND NOT p.all_domains)",
        "all_domains = FALSE",
        all_domains=False,
    ),
    _license(
        "licenses keep the earlier expiry",
        f"EXISTS ({_LICENSE} AND p.expires_at IS NOT NULL"
        " AND (licensing_license.expires_at IS NULL OR p.expires_at < licensing_license.expires_at))",
        "expires_at = (SELECT p.expires_at FROM present_license p WHERE p.digest = licensing_license.digest)",
        expires_at="earlier",
    ),
    Cut(
        text="groups stay limited to some domains",
        resource=Resource.GROUPS,
        table="policies_group",
        name="name",
        where="all_domains AND EXISTS "
        "(SELECT 1 FROM present_group p WHERE p.id = policies_group.id AND NOT p.all_domains)",
        set="all_domains = FALSE",
        before={"all_domains": True},
        after={"all_domains": False},
    ),
    Cut(
        text="identity providers stay disabled: they were disabled or deleted after the backup",
        resource=Resource.IDENTITY_PROVIDERS,
        table="accounts_identityprovider",
        name="slug",
        where=f"enabled AND NOT EXISTS ({_PROVIDER} AND p.enabled)",
        set="enabled = FALSE",
        before={"enabled": True},
        after={"enabled": False},
    ),
    Cut(
        text="identity providers make no administrators",
        resource=Resource.IDENTITY_PROVIDERS,
        table="accounts_identityprovider",
        name="slug",
        where=f"group_map_gives_admin AND NOT EXISTS ({_PROVIDER} AND p.group_map_gives_admin)",
        set="group_map_gives_admin = FALSE",
        before={"group_map_gives_admin": True},
        after={"group_map_gives_admin": False},
    ),
    _tokens("git tokens stay revoked", Resource.GIT_TOKENS, "licensing_gittoken", "present_gittoken"),
    _tokens("app tokens stay revoked", Resource.APP_TOKENS, "licensing_apptoken", "present_apptoken"),
    _tokens("share links stay revoked", Resource.SHARE_LINKS, "policies_sharelink", "present_sharelink"),
    Cut(
        text="device passes have ended",
        resource=Resource.DEVICE_PASSES,
        table="policies_devicepass",
        name="program",
        where="1 = 1",
    ),
    _tokens("API tokens stay revoked", Resource.API_TOKENS, "accounts_apitoken", "present_apitoken"),
)
_OUTSIDE_OF_SCOPE = (
    "DELETE FROM {0} WHERE EXISTS (SELECT 1 FROM {1} p WHERE p.id = {0}.{2} AND NOT p.all_domains) AND NOT EXISTS "
    "(SELECT 1 FROM {3} d WHERE d.{2} = {0}.{2} AND d.authorizeddomain_id = {0}.authorizeddomain_id)"
)
_SCOPES = (
    ("accounts_user_authorized_domains", "present_user", "user_id", "present_userdomain"),
    ("licensing_apptoken_authorized_domains", "present_apptoken", "apptoken_id", "present_apptokendomain"),
    ("licensing_license_authorized_domains", "present_license", "license_id", "present_licensedomain"),
    ("policies_group_authorized_domains", "present_group", "group_id", "present_groupdomain"),
)
_NOT_A_MEMBER = (
    "DELETE FROM accounts_user_groups WHERE EXISTS (SELECT 1 FROM present_user p WHERE p.id = user_id) AND NOT EXISTS "
    "(SELECT 1 FROM present_usergroup m WHERE m.user_id = accounts_user_groups.user_id"
    " AND m.group_id = accounts_user_groups.group_id)"
)
_UNLINKED = (
    "SELECT i.id FROM accounts_externalidentity i WHERE NOT EXISTS (SELECT 1 FROM present_identity p WHERE "
    "p.provider_id = i.provider_id AND p.user_id = i.user_id AND p.issuer = i.issuer AND p.subject = i.subject)"
)
_UNLINK = (
    "DELETE FROM accounts_claimedgroup WHERE identity_id IN ({unlinked})",
    "DELETE FROM accounts_providersession WHERE identity_id IN ({unlinked})",
    "DELETE FROM accounts_externalidentity WHERE id IN ({unlinked})",
)
_USES_OF_LINKS = (
    "DELETE FROM policies_sharelinkopening",
    (
        "INSERT INTO policies_sharelinkopening (link_id, number, opened_at, client_ip, program)"
        " SELECT link_id, number, opened_at, client_ip, program FROM present_opening"
        " WHERE link_id IN (SELECT id FROM policies_sharelink)"
    ),
)
_DELETE_OF_PRESENT_USERS = "DELETE FROM {table} WHERE user_id IN (SELECT id FROM present_user)"
_COPY_PRESENT = (
    "INSERT INTO {table} ({columns}) SELECT {columns} FROM {present} WHERE user_id IN (SELECT id FROM accounts_user)"
)
_PASSKEY_COLUMNS = (
    "user_id, created_at, created_by, name, credential_id, public_key, user_handle, rp_id, sign_count, transports,"
    " backup_eligible, backed_up, last_used_at"
)
_TOTP_COLUMNS = "user_id, name, sealed_secret, created_at, confirmed_at, last_step, last_used_at"
_SECOND_FACTORS = (
    ("accounts_totpdevice", _TOTP_COLUMNS, "present_totp"),
    ("accounts_recoverycode", "user_id, digest", "present_code"),
    ("accounts_wrongcodes", "user_id, number, blocked_until", "present_wrong"),
    ("accounts_passkey", _PASSKEY_COLUMNS, "present_passkey"),
)


def is_later_state_of(manifest: Manifest) -> bool:
    """Return whether this database continues the history in which the backup was made."""
    if PolicyHead._meta.db_table not in connection.introspection.table_names():  # noqa: SLF001 - public
        return False
    lineage = manifest.lineage.partition(" ")[0]
    if not schema.is_current() or lineage == "-":
        return False
    return PolicyRevision.objects.filter(number=manifest.revision, lineage=lineage).exists()


def remember_present() -> None:
    """Copy the rows that the database has now to temporary tables."""
    with connection.cursor() as cursor:
        for name, query in _COPIES.items():
            cursor.execute(f"CREATE TEMPORARY TABLE {name} AS {query}")


def forget_present() -> None:
    """Drop the temporary tables."""
    with connection.cursor() as cursor:
        for name in _COPIES:
            cursor.execute(f"DROP TABLE {name}")


def cut(what: Cut) -> list[tuple[int, str]]:
    """Apply a cut; return id and name of the rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {what.name} FROM {what.table} WHERE {what.where} ORDER BY id")  # noqa: S608
        rows = list(cursor.fetchall())
        if rows and what.set:
            cursor.execute(f"UPDATE {what.table} SET {what.set} WHERE {what.where}")  # noqa: S608 - our own names
        elif rows:
            cursor.execute(f"DELETE FROM {what.table} WHERE {what.where}")  # noqa: S608 - as above
    return rows


def changes_of(what: Cut, rows: list[tuple[int, str]]) -> Iterator[Change]:
    """Yield the changes of a cut, for its revision."""
    action = Action.CHANGED if what.set else Action.DELETED
    for id_, name in rows:
        yield Change(what.resource, id_, name, action, what.before, what.after)


def keep_scopes_and_second_factors() -> None:
    """Cut scopes, memberships and identities to what both allow; keep the current second factors and uses of links."""
    with connection.cursor() as cursor:
        for statement in _USES_OF_LINKS:
            cursor.execute(statement)
        for statement in _UNLINK:
            cursor.execute(statement.format(unlinked=_UNLINKED))
        cursor.execute(_NOT_A_MEMBER)
        for scope in _SCOPES:
            cursor.execute(_OUTSIDE_OF_SCOPE.format(*scope))
        for table, columns, present in _SECOND_FACTORS:
            names = {"table": table, "columns": columns, "present": present}
            cursor.execute(_DELETE_OF_PRESENT_USERS.format(**names))
            cursor.execute(_COPY_PRESENT.format(**names))
