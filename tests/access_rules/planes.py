"""Both planes over the policy of an oracle's case, in memory: a request as a proxy's bytes, the answer and its record.

Sessions, git tokens and licenses are real ones; clock, countries and request rates are those of the case.
"""

from functools import lru_cache
from typing import Any

from audit.spool.records import AccessRecord
from gatewall.credentials.machine import GIT_TOKEN_PREFIX, LICENSE_PREFIX, new_token
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.users import UserState
from gatewall.gate.application import AuthApplication
from gatewall.gate.gate import Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.wsgi import AuthShim
from gatewall.kernel.trusted_callers import TrustedCallers
from tests.access_rules import shapes as of_oracle
from tests.access_rules.gateway import Site, Situation, seconds, token_of
from tests.support.cast import KEYS, STRANGERS_KEY, TRUSTED, a_credential_check, a_session_token
from tests.support.dialects import DIALECTS, Given, Line, Question, ask_application, ask_shim
from tests.support.proxies import ROOT
from tests.support.records import Records

_BEGIN, _END = int(seconds("2026-01-01T00:00:00Z")), int(seconds("2027-01-01T00:00:00Z"))
"""The lifetime of every session: around the times of all cases."""


class Planes:
    """Both planes, each with its own parser, over one gate; set the site and the request before asking."""

    def __init__(self) -> None:
        self._records = Records()
        self._site: Site | None = None
        self._request: of_oracle.Request | None = None
        gate = Gate(
            self,
            Ports(countries=self, credentials=a_credential_check(), rates=self),
            trusted=TRUSTED,
            guard=GuardPage("/wall"),
            clock=lambda: seconds(self._asked["at"]),
            records=self._records,
        )
        self._data = AuthApplication(gate, self, ROOT, TrustedCallers(TRUSTED, None))
        self._control = AuthShim(lambda *_: (), gate, ROOT, lambda: None)

    @property
    def _asked(self) -> of_oracle.Request:
        assert self._request is not None
        return self._request

    def __getattr__(self, name: str) -> Any:
        return getattr(Situation(self._asked), name)

    def current(self) -> PolicySnapshot | None:
        return self._site.snapshot if self._site else None

    def ask(self, site: Site, request: of_oracle.Request, dialect: str) -> list[tuple[Given, AccessRecord]]:
        """Return the answer and the record of each plane."""
        self._site, self._request = site, request
        sent = question(site, request, dialect)
        return [
            (answer, AccessRecord.from_bytes(self._records.written.pop().to_bytes()))
            for answer in (ask_application(self._data, sent), ask_shim(self._control, sent))
        ]


def dialects_for(request: of_oracle.Request) -> list[str]:
    """Return the dialects that can show what the case says: only ``/auth`` may lack a header."""
    is_complete = request["uri"] is not None and request["method"] is not None and request["client_shown"]
    return list(DIALECTS) if is_complete else ["auth"]


def question(site: Site, request: of_oracle.Request, dialect: str) -> Question:
    """Return a case's request as the proxy sends it."""
    port = "" if request["port"] is None else f":{request['port']}"
    asked = DIALECTS[dialect](
        method=request["method"] or "GET",
        host=request["host"] + port,
        client=request["client"],
        uri=request["uri"] or "/",
    )
    missing = [name for name in ("uri", "method") if request[name] is None]
    missing += [] if request["client_shown"] else ["for"]
    asked = asked.without(*(f"x-forwarded-{name}" for name in missing))
    if request["preflight"]:
        asked = asked.plus(("Origin", "https://a.example"), ("Access-Control-Request-Method", "PUT"))
    return asked.plus(*(_credential(site, sent) for sent in request["credentials"]))


def _credential(site: Site, sent: of_oracle.Credential) -> Line:
    name, is_forged = sent["name"], sent["forged"]
    if sent["kind"] == "session":
        user = next(user for user in site.snapshot.users.values() if user.username == name)
        return "Service-Authorization", _session(user, tuple(sent["amr"]), is_forged)
    if sent["kind"] == "license":
        return "Service-License", new_token(LICENSE_PREFIX).text if is_forged else token_of(LICENSE_PREFIX, name).text
    token = token_of(GIT_TOKEN_PREFIX, name)
    text = new_token(GIT_TOKEN_PREFIX).text if is_forged else token.text
    users = {state.digest: site.snapshot.users[state.user_id].username for state in site.snapshot.git_tokens.values()}
    return "Service-Git-Token", f"{users[token.digest]}:{text}"


@lru_cache(maxsize=1_000)
def _session(user: UserState, amr: tuple[str, ...], is_forged: bool) -> str:
    key = STRANGERS_KEY if is_forged else KEYS.signing
    return a_session_token(user, key=key, amr=list(amr), iat=_BEGIN, nbf=_BEGIN, exp=_END)
