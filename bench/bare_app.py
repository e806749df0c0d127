"""The minimal application: the upper bound of the data plane under the same server."""

from typing import Any

from gatewall.gate.shadow import CallLater
from gatewall.server.answer_bytes import Answer

_OK = Answer(200, ())


class BareApplication:
    """Answers 200 to everything, without records."""

    def __call__(self, *request: Any) -> Answer:
        """Return the answer."""
        return _OK

    def work_after_answers(self, call_later: CallLater) -> None:
        """Do nothing: there is no shadow policy to evaluate."""

    def report_heads(self, figures: dict[str, int]) -> None:
        """Do nothing: no benchmark reads the figures."""

    def close(self) -> None:
        """Do nothing: there is nothing to flush."""


def application() -> BareApplication:
    """Return the application, for the worker."""
    return BareApplication()
