"""Visitors who ask about a town whose policy changes, and write down what was answered."""

import random
import re
import socket
import threading
import time
from collections.abc import Sequence
from typing import Self

from tests.nemesis.ledger import WrittenLedger
from tests.nemesis.town import Town
from tests.planes import about
from tests.trail.visitors import NoAnswer, Visitors, decision_of, read_answer, wire

_REASON = re.compile(rb"\r\nx-gatewall-reason: ([a-z-]+)\r\n", re.IGNORECASE)
_HEADER = {"session": "Service_Authorization", "git": "Service_Git_Token", "license": "Service_License"}


class TownVisitors(Visitors):
    """Ask each of the ports over keep-alive connections, so many questions a second together."""

    def __init__(self, ledger: WrittenLedger, ports: Sequence[int], town: Town, *, rate: float, seed: int) -> None:
        super().__init__(ledger, ports, (), rate=rate)
        self._written = ledger
        self._town = town
        self._choice = random.Random(seed)  # noqa: S311 - a seed

    def _ask(self, connection: socket.socket, port: int, number: int, due: float) -> None:
        question, token = self._town.question(self._choice)
        credential = {_HEADER[question.kind]: token} if question.kind else {}
        text = wire(about(client=question.client, host=question.host, uri=question.uri, **credential))
        sent = time.monotonic()
        connection.sendall(text)
        head = read_answer(connection)
        decision, status = decision_of(head)
        if (reason := _REASON.search(head)) is None:
            raise NoAnswer("no reason in the answer")
        self._written.write(port, decision, (status, reason[1].decode()), question, sent)


class Editor:
    """Changes the town without an end, so many times a second at most, from a thread of its own."""

    def __init__(self, town: Town, *, rate: float) -> None:
        self._town = town
        self._between = 1 / rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None
        self.changes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._between):
                self._town.change()
                self.changes += 1
        except BaseException as failure:  # noqa: BLE001 - whoever waits for the run is told
            self.failure = failure
