"""Translatable messages: an English template with parameters, like Django's ValidationError. Pure.

The API shows the English text; pages translate the template first (``gatewall.api.translation``). A database row has
the text in one column, and template and parameters in a JSON column.
"""

from collections.abc import Mapping
from typing import Any, Self

MAX_STORED = 500
"""Characters of a text, or of one parameter, that are stored."""


def gettext_noop(text: str) -> str:
    """Mark a template for translation and return it unchanged."""
    return text


class Message(str):
    """English text of a ``%(name)s`` template; keeps ``template`` and ``params`` for translation."""

    __slots__ = ("params", "template")

    template: str
    params: Mapping[str, object]

    def __new__(cls, template: str, **params: object) -> Self:
        """Fill in the template; without parameters ``%`` is literal, and a Message is returned unchanged."""
        if isinstance(template, cls) and not params:
            return template
        message = super().__new__(cls, template % params if params else template)
        message.template, message.params = template, params
        return message

    def as_json(self) -> dict[str, Any]:
        """Return template and parameters for a JSON column, each truncated to ``MAX_STORED`` characters."""
        template = self.template if self.params else self.template[:MAX_STORED]
        return {"template": template, "params": {name: _param_as_json(each) for name, each in self.params.items()}}


def _param_as_json(param: object) -> Any:
    if isinstance(param, Message):
        return param.as_json()
    return param if isinstance(param, (int, float)) else str(param)[:MAX_STORED]


def stored_message(stored: Mapping[str, Any] | None, text: str) -> str:
    """Return the message of ``as_json``, or the text if an older release wrote only that."""
    message = _from_json(stored) if stored else Message(text)
    return message if message[:MAX_STORED] == text else text


def _from_json(stored: Mapping[str, Any]) -> Message:
    params = {name: _from_json(each) if isinstance(each, dict) else each for name, each in stored["params"].items()}
    return Message(stored["template"], **params)


class Refused(ValueError):
    """A value is invalid; ``message`` explains why."""

    def __init__(self, message: str, **params: object) -> None:
        self.message = Message(message, **params)
        super().__init__(self.message)
