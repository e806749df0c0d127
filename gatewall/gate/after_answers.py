"""Thread that evaluates the shadow policy on the control plane, after the event loop has written the answers. Pure."""

import time
from threading import Event, Lock, Thread

from gatewall.gate.shadow import Shadow

_PAUSE_SECONDS = 0.002
"""Pause before each evaluation, so that the event loop and other answers get the interpreter (GIL) first."""


class AfterAnswers:
    """Evaluates queued requests when woken; the first ``wake()`` starts the thread."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._woken = Event()
        self._lock = Lock()
        self._thread: Thread | None = None

    def wake(self) -> None:
        """Wake the thread to evaluate the queued requests."""
        self._woken.set()
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="shadow-work", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._woken.wait():
            self._woken.clear()
            time.sleep(_PAUSE_SECONDS)
            while self._shadow.work():
                time.sleep(_PAUSE_SECONDS)
