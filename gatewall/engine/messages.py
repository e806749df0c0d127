"""Messages for people: an English template with its parameters, as Django's ValidationError has them. Pure.

The API answers in English, so a message is that text. A page translates the template before it fills in the
parameters (``gatewall.api.translation``). A database row has the text in one column, and the template with its
parameters in a JSON column beside it.
"""

from collections.abc import Mapping
from typing import Any, Self

MAX_STORED = 500
"""Characters of a text, or of one parameter, that are stored."""


def gettext_noop(text: str) -> str:
    """Mark a template for the catalogue of translations, and return it as it is."""
    return text


class Message(str):
    """The English text of a template with ``%(name)s`` filled in; ``template`` and ``params`` are for translation."""

    __slots__ = ("params", "template")

    template: str
    params: Mapping[str, object]

    def __new__(cls, template: str, **params: object) -> Self:
        """Fill in the template; without parameters a ``%`` in it is a percent sign, and a message stays itself."""
        if isinstance(template, cls) and not params:
            return template
        message = super().__new__(cls, template % params if params else template)
        message.template, message.params = template, params
        return message

    def as_json(self) -> dict[str, Any]:
        """Return the template and the parameters for a JSON column; each is cut to ``MAX_STORED`` characters."""
        template = self.template if self.params else self.template[:MAX_STORED]
        return {"template": template, "params": {name: _param_as_json(each) for name, each in self.params.items()}}


def _param_as_json(param: object) -> Any:
    if isinstance(param, Message):
        return param.as_json()
    return param if isinstance(param, (int, float)) else str(param)[:MAX_STORED]


def stored_message(stored: Mapping[str, Any] | None, text: str) -> str:
    """Return the message that ``as_json`` stored; the text if that column is empty or belongs to another text.

    An older release writes the text alone.
    """
    message = _from_json(stored) if stored else Message(text)
    return message if message[:MAX_STORED] == text else text


def _from_json(stored: Mapping[str, Any]) -> Message:
    params = {name: _from_json(each) if isinstance(each, dict) else each for name, each in stored["params"].items()}
    return Message(stored["template"], **params)


class Refused(ValueError):
    """A value that cannot be used; ``message`` says why."""

    def __init__(self, message: str, **params: object) -> None:
        self.message = Message(message, **params)
        super().__init__(self.message)
