"""Load at a fixed rate: policy edits, sign-ins, and requests whose access log row is awaited."""

import http.client
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from tests.kill_test.visitors import Ledger, decision_of, read_answer, wire
from tests.support.processes import PASSWORD
from tests.support.servers import Verdict, about

_PATIENCE_SECONDS = 30
_FIRST_LOOK_SECONDS, _LOOK_SECONDS = 0.2, 0.1
"""The agent ships four times a second. Stays within the API's rate limit of one caller."""
_NO_ANSWER = 0


class Reply(NamedTuple):
    """A response of the API; status 0: none."""

    status: int
    body: dict[str, Any]


def call(port: int, token: str, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
    """Call the management API on a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    headers = {"Content-Type": "application/json", "Service-Authorization": token}
    try:
        connection.request(method, f"/wall{path}", None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
    except (OSError, http.client.HTTPException):
        return Reply(_NO_ANSWER, {})
    finally:
        connection.close()
    is_json = "json" in response.headers.get("Content-Type", "")
    return Reply(response.status, json.loads(text) if text and is_json else {})


@dataclass
class Outcome:
    """Durations in seconds and results of the calls of one kind."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    pending: int = 0

    def add(self, reply: Reply, seconds: float) -> Reply:
        """Record a call."""
        self.seconds.append(seconds)
        self.statuses[reply.status] += 1
        self.pending += bool(reply.body.get("policy_pending"))
        return reply

    @property
    def errors(self) -> int:
        """Return the number of calls with a 5xx or without a response."""
        return sum(number for status, number in self.statuses.items() if status >= 500 or status == _NO_ANSWER)

    @property
    def refused(self) -> int:
        """Return the number of calls with a 4xx: an error of the test, or a limit."""
        return sum(number for status, number in self.statuses.items() if 400 <= status < 500)


class Paced:
    """Call ``turn`` at a fixed rate from a thread; late calls follow immediately."""

    def __init__(self, turn: Callable[[], None], rate: float) -> None:
        self._turn = turn
        self._rate = rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None

    def __enter__(self) -> Self:
        if self._rate:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._rate:
            self._thread.join()
        if self.failure:
            raise self.failure

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                self._turn()
                due += 1 / self._rate
        except BaseException as failure:  # noqa: BLE001 - raised again at the end of the block
            self.failure = failure


class Editor:
    """Changes the policy over the API, one resource after the other, back and forth, so its size stays constant."""

    def __init__(self, port: int, token: str) -> None:
        self.outcome = Outcome()
        self._port, self._token = port, token
        user = self._made("/users", username="edited", password=PASSWORD)
        domain = self._made("/authorized-domains", name="edited.example")
        rule = self._made("/waf-rules", name="soak", pattern="soak-[0-9]+-never", operator="regex")
        machine = self._made("/licenses", name="edited")
        toggles: list[tuple[str, str, Any, Any]] = [
            (f"/users/{user}", "is_active", False, True),
            (f"/authorized-domains/{domain}", "access", "public", "authenticated"),
            (f"/waf-rules/{rule}", "enabled", False, True),
            (f"/licenses/{machine}", "is_active", False, True),
            ("/system/settings", "guard_message", "one", "another"),
        ]
        made = [
            *(("/ip-black-list", {"ip": f"192.0.2.{number}"}) for number in range(8)),
            *(("/ip-white-list", {"ip": f"233.252.0.{number}"}) for number in range(3)),
            ("/geo-block-rules", {"country_code": "NZ"}),
            ("/licenses", {"name": "made and deleted", "password": PASSWORD}),  # needs a recent sign-in
        ]
        rounds = [self._back_and_forth(*toggle) for toggle in toggles]
        rounds += [self._made_and_deleted(path, fields) for path, fields in made]
        self._turns = itertools.cycle(rounds)

    def change(self) -> None:
        """Make the next change."""
        next(next(self._turns))

    def _made(self, path: str, **fields: Any) -> int:
        reply = call(self._port, self._token, "POST", path, fields)
        assert reply.status == 201, (path, reply)
        return int(reply.body["id"])

    def _back_and_forth(self, path: str, name: str, one: Any, other: Any) -> Iterator[None]:
        for value in itertools.cycle((one, other)):
            self._edit("PUT", path, {name: value})
            yield

    def _made_and_deleted(self, path: str, fields: dict[str, Any]) -> Iterator[None]:
        while True:
            reply = self._edit("POST", path, fields)
            yield
            if reply.status == 201:
                self._edit("DELETE", f"{path}/{reply.body['id']}")
                yield

    def _edit(self, method: str, path: str, fields: dict[str, Any] | None = None) -> Reply:
        began = time.monotonic()
        reply = call(self._port, self._token, method, path, fields)
        return self.outcome.add(reply, time.monotonic() - began)


class SignIns:
    """Users that sign in, one after the other."""

    def __init__(self, port: int, token: str, users: int = 5) -> None:
        self.outcome = Outcome()
        self._port = port
        names = [f"person{number}" for number in range(users)]
        for name in names:
            assert call(port, token, "POST", "/users", {"username": name, "password": PASSWORD}).status == 201
        self._names = itertools.cycle(names)

    def sign_in(self) -> None:
        """Sign in the next user."""
        began = time.monotonic()
        reply = call(self._port, "", "POST", "/login", {"username": next(self._names), "password": PASSWORD})
        self.outcome.add(reply, time.monotonic() - began)


class Rows:
    """Sends requests to the data plane and polls the API for their rows."""

    def __init__(self, ledger: Ledger, auth: int, control: int, token: str) -> None:
        self.outcome = Outcome()
        """Results of the polls."""
        self.readable_after: list[float] = []
        """Seconds from an answer until its row was read."""
        self._ledger, self._auth, self._control, self._token = ledger, auth, control, token
        self._question, self._right = wire(about(client="198.51.100.99")), Verdict(401, "credential-missing")

    def follow_one(self) -> None:
        """Send a request and wait for its row; fail on a timeout."""
        due = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", self._auth), _PATIENCE_SECONDS) as connection:
                connection.sendall(self._question)
                decision, status = decision_of(read_answer(connection))
        except OSError:
            self._ledger.lose(asked=True)
            return
        self._ledger.add(self._auth, decision, status, self._right.status, due)
        answered = time.monotonic()
        pause = _FIRST_LOOK_SECONDS
        while True:
            time.sleep(pause)
            began, pause = time.monotonic(), _LOOK_SECONDS
            reply = call(self._control, self._token, "GET", f"/access-logs?decision_id={decision}")
            self.outcome.add(reply, time.monotonic() - began)
            if reply.body.get("results"):
                self.readable_after.append(time.monotonic() - answered)
                return
            assert time.monotonic() < answered + 2 * _PATIENCE_SECONDS, f"no row of {decision}"
