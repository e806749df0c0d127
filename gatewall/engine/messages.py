"""Messages for people: an English template with its parameters, as Django's ValidationError has them. Pure.

The API answers in English, so a message is that text. A page translates the template before it fills in the
parameters (``gatewall.api.translation``).
"""

from collections.abc import Mapping
from typing import Self


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


class Refused(ValueError):
    """A value that cannot be used; ``message`` says why."""

    def __init__(self, message: str, **params: object) -> None:
        self.message = Message(message, **params)
        super().__init__(self.message)
