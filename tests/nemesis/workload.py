"""The workload: users, hosts and clients of the requests, and the random changes of their policy."""

import random
from collections.abc import Callable
from typing import Any

from tests.nemesis.api import Api
from tests.nemesis.history import Changes, Edit, History
from tests.nemesis.oracle import SETTINGS, Key
from tests.support.processes import PASSWORD

PLAIN = "198.51.100.7"
SINGLE = tuple(f"203.0.113.{last}" for last in (3, 9, 17, 140, 200))
INSIDE = "198.51.100.77"
SIX = "2001:db8::17"
CLIENTS = (*(PLAIN,) * 8, INSIDE, SIX, *SINGLE)
NETWORKS = (*SINGLE, "203.0.113.0/24", "198.51.100.64/26", INSIDE, "2001:db8::/64", SIX)
ALLOWED = ((INSIDE, None), ("203.0.113.9", "office.example"), ("203.0.113.140", None), ("2001:db8::/64", None))
DOMAINS = {
    "office.example": "authenticated",
    "shop.example": "public",
    "vault.example": "two_factor",
    "*.wild.example": "authenticated",
    "deep.wild.example": "denied",
    "new.example": "authenticated",
}
SCOPED = ("office.example", "vault.example", "*.wild.example")
HOSTS = (
    *("office.example",) * 4,
    "shop.example",
    "vault.example",
    "a.wild.example",
    "deep.wild.example",
    "new.example",
)
RULES = {"first planted": ("planted-one", 5), "second planted": ("planted-two", 3), "third planted": ("planted", 3)}
URIS = (*("/",) * 8, "/?q=planted-one", "/?q=planted-two", "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--")
COUNTRY_CODES = ("NZ", "IS")
USERS = ("ann", "ben", "cleo")
GROUPS = ("family", "guests")
_USER = {"is_active": True, "is_admin": False, "all_domains": True, "authorized_domains": (), "groups": ()}
_LICENSE = {"is_active": True, "all_domains": True, "authorized_domains": ()}


class Workload:
    """Users and policy, created over the API; then ``change`` makes one random change."""

    def __init__(self, api: Api, history: History, choice: random.Random) -> None:
        self._api = api
        self._history = history
        self._choice = choice
        self._ids: dict[Key, int] = {}
        self._world: dict[Key, dict[str, Any]] = {}
        self._number = 0
        self.tokens: dict[tuple[str, str], str] = {("session", "forged"): "e30.e30.x"}
        """The text of each credential in use, including those that are no longer valid."""
        self._recent: dict[str, list[str]] = {"session": ["forged"], "git": [], "license": []}
        self._credential_listener: Callable[[dict[str, Any]], None] = lambda _credentials: None

    def furnish(self) -> None:
        """Create everything that is always present."""
        # Without bans: a client that asks before its session is published looks like a scanner.
        self._settings(waf_mode="block", geo_mode="block", auto_ban_mode="off")
        for name, access in DOMAINS.items():
            self._create(("domain", name), "/authorized-domains", {"name": name, "access": access})
        for name in USERS:
            self._new_user(name)
        self._turn_git()
        for name, (pattern, score) in RULES.items():
            values = {"pattern": pattern, "score": score, "action": "block", "enabled": True, "domain": None}
            self._create(("rule", name), "/waf-rules", values | {"name": name, "operator": "contains"}, values)
        for number in range(2):
            self._new_license(f"farm {number}")

    def call_with_credentials(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call this with the newest credentials of each kind, now and after each change."""
        self._credential_listener = listener
        listener({kind: self._latest(kind) for kind in self._recent})

    def _latest(self, kind: str) -> list[tuple[str, str]]:
        """Return key and text of the newest credentials, including those no longer valid."""
        return [(key, self.tokens[kind, key]) for key in self._recent[kind]]

    def change(self) -> None:
        """Make one change; return when it is confirmed."""
        moves: dict[Callable[[], None], int] = {
            self._turn_block: 12,
            self._turn_allow: 4,
            self._turn_access: 4,
            self._turn_new_domain: 2,
            self._turn_user: 3,
            self._delete_user: 1,
            self._turn_scope: 4,
            self._turn_group: 2,
            self._turn_members: 3,
            self._sign_out: 3,
            self._turn_git: 3,
            self._turn_license: 4,
            self._turn_rule: 1,
            self._turn_country: 3,
            self._turn_settings: 1,
            self._push_a_bad_rule: 1,
        }
        self._choice.choices(list(moves), list(moves.values()))[0]()

    def _turn_block(self) -> None:
        network = self._choice.choice(NETWORKS)
        self._turn(("block", network), "/ip-black-list", {"ip": network})

    def _turn_allow(self) -> None:
        network, domain = self._choice.choice(ALLOWED)
        inspect = self._choice.random() < 0.5
        self._turn(("allow", network, domain), "/ip-white-list", {"ip": network, "domain": domain, "inspect": inspect})

    def _turn_new_domain(self) -> None:
        self._turn(("domain", "new.example"), "/authorized-domains", {"name": "new.example", "access": "authenticated"})

    def _turn_country(self) -> None:
        code = self._choice.choice(COUNTRY_CODES)
        self._turn(("country", code), "/geo-block-rules", {"country_code": code})

    def _turn_access(self) -> None:
        name = self._choice.choice([name for name in DOMAINS if ("domain", name) in self._world])
        access = self._choice.choice(("authenticated", "authenticated", "public", "two_factor", "denied"))
        self._put(("domain", name), "/authorized-domains", {"access": access})

    def _turn_rule(self) -> None:
        name = self._choice.choice(list(RULES))
        self._put(("rule", name), "/waf-rules", {"enabled": not self._world["rule", name]["enabled"]})

    def _turn_settings(self) -> None:
        self._settings(
            **{self._choice.choice(("waf_mode", "geo_mode")): self._choice.choice(("block", "block", "monitor", "off"))}
        )

    def _turn_user(self) -> None:
        """Disable a user, which ends their sessions, or enable them and sign in again."""
        name = self._choice.choice(USERS)
        if self._world["user", name]["is_active"]:
            self._put(("user", name), "/users", {"is_active": False}, also=self._sessions_of(name))
        else:
            self._put(("user", name), "/users", {"is_active": True})
            self._sign_in(name)

    def _delete_user(self) -> None:
        name = self._choice.choice(USERS)
        gone = self._sessions_of(name) | dict.fromkeys(self._owned("git", name))
        self._delete(("user", name), "/users", also=gone)
        self._new_user(name)

    def _turn_scope(self) -> None:
        kind, path = self._choice.choice((("user", "/users"), ("license", "/licenses")))
        self._put(self._choice.choice([key for key in self._world if key[0] == kind]), path, self._some_scope())

    def _some_scope(self) -> dict[str, Any]:
        names = () if self._choice.random() < 0.5 else tuple(self._choice.sample(SCOPED, self._choice.randrange(1, 3)))
        return {"all_domains": not names, "authorized_domains": names}

    def _turn_group(self) -> None:
        """Delete a group, which its members lose; or create it again without members; or change its scope."""
        name = self._choice.choice(GROUPS)
        key = ("group", name)
        if key not in self._world:
            scope = self._some_scope()
            self._create(key, "/groups", {"name": name, **scope}, scope)
        elif self._choice.random() < 0.5:
            self._put(key, "/groups", self._some_scope())
        else:
            members = [(key, user) for key, user in self._world.items() if name in user.get("groups", ())]
            left = {key: {**user, "groups": tuple({*user["groups"]} - {name})} for key, user in members}
            self._delete(key, "/groups", also=left)

    def _turn_members(self) -> None:
        chosen = tuple(name for name in GROUPS if ("group", name) in self._world and self._choice.random() < 0.5)
        self._put(("user", self._choice.choice(USERS)), "/users", {"groups": chosen})

    def _sign_out(self) -> None:
        """End a user's session by its token, and sign in again."""
        name = self._choice.choice(USERS)
        sessions = self._owned("session", name)
        if not sessions or not self._world["user", name]["is_active"]:
            return
        key = sessions[0]
        token = self.tokens["session", str(key[1])]
        self._edit({key: None}, "POST", "/logout", token=token, done=(401,))
        self._sign_in(name)

    def _turn_git(self) -> None:
        name = self._choice.choice(USERS)
        owned = self._owned("git", name)
        user = self._ids["user", name]
        if owned:
            self._delete(owned[0], f"/users/{user}/git-tokens")
        elif self._world["user", name]["is_active"]:
            self._issue(("git", self._fresh("git")), f"/users/{user}/git-tokens", {"user": name}, {})

    def _turn_license(self) -> None:
        key = self._choice.choice([key for key in self._world if key[0] == "license"])
        if self._choice.random() < 0.3:
            self._delete(key, "/licenses")
            self._new_license(self._fresh("farm"))
        else:
            self._put(key, "/licenses", {"is_active": not self._world[key]["is_active"]})

    def _push_a_bad_rule(self) -> None:
        """Push a pattern that does not compile: it is refused, and nothing changes."""
        status = self._api.until_answered("POST", "/waf-rules", {"name": "bad", "pattern": "(("}).status
        assert status == 400, status

    # Building blocks of the changes.

    def _turn(self, key: Key, path: str, fields: dict[str, Any]) -> None:
        if key in self._world:
            self._delete(key, path)
        else:
            self._create(key, path, fields)

    def _create(self, key: Key, path: str, fields: dict[str, Any], values: dict[str, Any] | None = None) -> None:
        known = {name: value for name, value in fields.items() if name not in ("ip", "name", "country_code", "domain")}
        answer = self._edit({key: known if values is None else values}, "POST", path, fields, done=(409,))
        self._ids[key] = answer["id"] if "id" in answer else self._api.find(path, fields)  # created by a first attempt

    def _put(self, key: Key, path: str, fields: dict[str, Any], also: Changes | None = None) -> None:
        changes = {key: {**self._world[key], **fields}, **(also or {})}
        self._edit(changes, "PUT", f"{path}/{self._ids[key]}", fields)

    def _delete(self, key: Key, path: str, also: Changes | None = None) -> None:
        self._edit({key: None, **(also or {})}, "DELETE", f"{path}/{self._ids.pop(key)}", done=(404,))

    def _settings(self, **fields: str) -> None:
        self._edit({SETTINGS: {**self._world.get(SETTINGS, {}), **fields}}, "PUT", "/system/settings", fields)

    def _new_user(self, name: str) -> None:
        fields = {"username": name, "password": PASSWORD, "email": f"{name}@office.example"}
        self._create(("user", name), "/users", {**fields, "current_password": PASSWORD}, dict(_USER))
        self._sign_in(name)

    def _sign_in(self, name: str) -> None:
        key = ("session", self._fresh(name))
        self._issue(key, "/login", {"user": name}, {"username": name, "password": PASSWORD})

    def _new_license(self, name: str) -> None:
        self._issue(("license", name), "/licenses", dict(_LICENSE), {})

    def _issue(self, key: Key, path: str, values: dict[str, Any], fields: dict[str, Any]) -> None:
        """Issue a token; one issued by an interrupted attempt is never used."""
        kind, name = key[0], str(key[1])
        with self._history.edit({key: values}) as edit:
            named = (lambda: fields) if fields else lambda: {"name": self._fresh(name), "password": PASSWORD}
            answer = self._send(edit, "POST", path, named)
        self._world[key] = values
        self._ids[key] = answer.get("id", 0)
        # git clients send the user name, too.
        self.tokens[str(kind), name] = f"{values['user']}:{answer['token']}" if kind == "git" else answer["token"]
        self._recent[str(kind)] = [*self._recent[str(kind)][-5:], name]
        self._credential_listener({str(kind): self._latest(str(kind))})

    def _edit(
        self,
        changes: Changes,
        method: str,
        path: str,
        fields: dict[str, Any] | None = None,
        *,
        token: str = "",
        done: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        with self._history.edit(changes) as edit:
            answer = self._send(edit, method, path, lambda: fields, token=token, done=done)
        for key, values in changes.items():
            if values is None:
                self._world.pop(key, None)
            else:
                self._world[key] = dict(values)
        return answer

    def _send(
        self,
        edit: Edit,
        method: str,
        path: str,
        fields: Callable[[], dict[str, Any] | None],
        *,
        token: str = "",
        done: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        answer = self._api.until_done(method, path, fields, token=token, done=done)
        edit.host = answer.host
        edit.pending = bool(answer.body.get("policy_pending"))
        return answer.body

    def _sessions_of(self, name: str) -> dict[Key, None]:
        return dict.fromkeys(self._owned("session", name))

    def _owned(self, kind: str, name: str) -> list[Key]:
        return [key for key, values in self._world.items() if key[0] == kind and values["user"] == name]

    def _fresh(self, word: str) -> str:
        self._number += 1
        return f"{word.partition(' ')[0]} {self._number}"
