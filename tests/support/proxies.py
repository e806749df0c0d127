"""Run Gatewall in this process: ``/auth`` through the WSGI shim, the API through Django's test client."""

import copy
import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import close_old_connections, connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import admin_session, services
from accounts.api_tokens import services as api_tokens
from accounts.models import User
from accounts.sign_in import login
from accounts.tokens import API, GATE
from accounts.visitor import Visitor
from gatewall.api.codes import PROBLEM_CODES
from gatewall.api.problems import MEDIA_TYPE
from gatewall.api.scopes import Scope
from licensing import services as licensing
from tests.support import first_users
from tests.support.cast import CLIENT, OFFICE

if TYPE_CHECKING:
    from rest_framework.response import _MonkeyPatchedResponse as ApiResponse

PASSWORD = "correct horse battery staple"
ROOT = "/wall"
_ALWAYS_EMPTY_OF = ("Traceback", "SELECT ", "psycopg", "sqlite3")


def a_user(username: str, **values: Any) -> User:
    """Create a user with the test password."""
    values = {"username": username, "password": PASSWORD, "email": f"{username.lower()}@office.example", **values}
    return first_users.create(services.create_user, actor="cast", **values)


def a_token(
    user: User, *, audiences: Iterable[str] = (GATE, API), amr: tuple[str, ...] = ("pwd",), at: Any = None
) -> str:
    """Create a session of the user; return its token."""
    visitor = Visitor(client_ip=CLIENT, user_agent="tests")
    token = login.start_session(user, audiences=tuple(audiences), amr=amr, visitor=visitor, at=at or timezone.now())
    return token.text


def enter_admin_site(client: Client, user: User, *, amr: tuple[str, ...] = ("pwd",), at: Any = None) -> None:
    """Sign the user in to the Django admin, like its form after the checks."""
    client.force_login(user)
    store, visitor = client.session, Visitor(client_ip=CLIENT, user_agent="tests")
    admin_session.begin(store, user, amr=amr, visitor=visitor, at=at or timezone.now())
    store.save()


def an_app_token(user: User, name: str = "calendar", **values: Any) -> str:
    """Create an app token of the user, by default for every site; return its text."""
    scope = {"all_domains": True, "expires_at": None, **values}
    return licensing.issue_app_token(actor="cast", user_id=user.pk, name=name, **scope)[1].text


def a_git_token(user: User, name: str = "laptop", **values: Any) -> str:
    """Create a git token of the user; return its text."""
    values = {"expires_at": None, **values}
    return licensing.issue_git_token(actor="cast", user_id=user.pk, name=name, **values)[1].text


def a_license(name: str = "build farm", **values: Any) -> str:
    """Create a license; return its token."""
    return licensing.issue_license(actor="cast", name=name, **values)[1].text


def an_api_token(user: User, *scopes: str, name: str = "ci", **values: Any) -> str:
    """Create an API token of the admin, by default with every scope; return its text."""
    return api_tokens.issue(maker=user, name=name, scopes=scopes or tuple(Scope), **values)[1].text


def with_api_token(token: str, **headers: str) -> "Api":
    """Return a client of the API that sends an API token."""
    return Api(Authorization=f"Bearer {token}", **headers)


@dataclass(frozen=True)
class Answer:
    """A response of the gate."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def reason(self) -> str:
        return self.headers["X-Gatewall-Reason"]

    @property
    def verdict(self) -> tuple[int, str]:
        return self.status, self.reason


class AuthEndpoint:
    """``/auth`` in this process, called by a trusted proxy for a visitor of office.example."""

    def __init__(self) -> None:
        from gatewall import wsgi  # noqa: PLC0415 - after the fixtures have set its settings

        self.shim = copy.copy(wsgi.application)
        config = dataclasses.replace(
            settings.CONFIG,
            home=settings.GATEWALL_HOME,
            trusted_proxies=settings.GATEWALL_TRUSTED_PROXIES,
            public_url=settings.GATEWALL_PUBLIC_URL,
            geoip_database=settings.GATEWALL_GEOIP_DATABASE,
            jwt_keys=settings.GATEWALL_JWT_KEYS,
        )
        self.gate = self.shim._gate = wsgi.build_control_plane_gate(config)
        # Like Django's test client: keep the connection of the test's transaction open.
        self.shim._before_decision = lambda: None if connection.in_atomic_block else close_old_connections()

    def __call__(self, *, peer: str = "127.0.0.1", verb: str = "GET", **headers: str | None) -> Answer:
        """Send the forwarding headers of nginx; None omits one."""
        usual = {
            "x_forwarded_for": CLIENT,
            "x_forwarded_host": OFFICE,
            "x_forwarded_proto": "https",
            "x_forwarded_method": "GET",
            "x_forwarded_uri": "/",
        }
        return self.plain(peer=peer, verb=verb, **(usual | headers))

    def plain(self, *, peer: str = "127.0.0.1", verb: str = "GET", **headers: str | None) -> Answer:
        """Send only these headers and ``Host``."""
        sent = {f"HTTP_{name.upper()}": value for name, value in headers.items() if value is not None}
        environ = {
            "REQUEST_METHOD": verb,
            "SCRIPT_NAME": "",
            "PATH_INFO": f"{ROOT}/auth",
            "REMOTE_ADDR": peer,
            "wsgi.url_scheme": "http",
            "HTTP_HOST": "127.0.0.1:9999",
            **sent,
        }
        started: list[tuple[str, list[tuple[str, str]]]] = []
        body = b"".join(self.shim(environ, lambda status, fields: started.append((status, fields))))
        ((line, fields),) = started
        names = [name for name, _ in fields]
        assert len(set(names)) == len(names), f"a header twice: {names}"
        assert not any(set(value) & set("\r\n\0") for _, value in fields)
        return Answer(int(line[:3]), dict(fields), body)


class Api:
    """A client of the API that checks every response for well-formedness."""

    def __init__(self, token: str | None = None, *, cookie: str | None = None, **headers: str) -> None:
        self._client = APIClient(headers={**({"Service-Authorization": token} if token else {}), **headers})
        if cookie:
            self._client.cookies["service.token"] = cookie

    def get(self, path: str, parameters: Any = None, **extra: Any) -> "ApiResponse":
        return self._checked(self._client.get(ROOT + path, parameters, **extra))

    def post(self, path: str, body: Any = None, **extra: Any) -> "ApiResponse":
        return self._checked(self._client.post(ROOT + path, body, **extra))

    def put(self, path: str, body: Any = None, **extra: Any) -> "ApiResponse":
        return self._checked(self._client.put(ROOT + path, body, **extra))

    def delete(self, path: str, **extra: Any) -> "ApiResponse":
        return self._checked(self._client.delete(ROOT + path, **extra))

    def send(
        self, verb: str, path: str, raw: bytes = b"", media_type: str = "application/json", **extra: Any
    ) -> "ApiResponse":
        """Send these bytes."""
        sent: Any = raw  # the stubs only accept str
        return self._checked(self._client.generic(verb, ROOT + path, sent, content_type=media_type, **extra))

    @staticmethod
    def _checked(response: "ApiResponse") -> "ApiResponse":
        if response.streaming:
            text = response.getvalue()
            response.json = lambda: json.loads(text)  # type: ignore[method-assign]  # Django has none for a stream
        assert_well_formed(response)
        return response


def assert_well_formed(response: "ApiResponse") -> None:
    """Assert the headers of docs/api.md, and that errors are documented problems."""
    assert response.headers["X-Request-Id"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    if response.status_code < 400 or response.request["REQUEST_METHOD"] == "HEAD":
        return
    assert response.headers["Content-Type"] == MEDIA_TYPE
    problem = response.json()
    assert {"type", "title", "status", "detail", "code"} <= set(problem), problem
    assert problem["status"] == response.status_code
    assert problem["code"] in PROBLEM_CODES, problem
    assert not any(word in response.text for word in _ALWAYS_EMPTY_OF)
    if response.status_code == 400:
        assert problem["errors"], problem
        place = {"line", "column", "pointer"} if problem["code"] == "document-refused" else set()
        assert all(set(error) == {"field", "code", "message"} | place for error in problem["errors"])
    if response.status_code == 401:
        assert response.headers["WWW-Authenticate"]


def code_of(response: "ApiResponse") -> tuple[int, str | None]:
    """Return the status and the code of a problem."""
    return response.status_code, response.json().get("code")
