"""Translate messages of services and pure modules. API views use English."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy, override

from gatewall.api.advice import with_advice
from gatewall.engine.messages import Message, Refused
from gatewall.kernel.refusals import Refusal

MAX_PARTS = 100
"""Maximum number of stored messages of one error."""


def translated(message: str) -> str:
    """Return a message in the active language, with its parameters, which may be messages too.

    Plain text is looked up unchanged.
    """
    if not isinstance(message, Message):
        return gettext(message) if message else ""
    params = {name: translated(each) if isinstance(each, Message) else each for name, each in message.params.items()}
    text = gettext(message.template)
    return text % params if params else text


def messages_of(error: Refusal | Refused | ValidationError) -> list[str]:
    """Return the messages of an error in the active language; those of a refusal with advice."""
    if isinstance(error, ValidationError):
        return error.messages
    message = translated(error.message)
    return [with_advice(message, error.code) if isinstance(error, Refusal) else message]


def message_of(error: Refusal | Refused | ValidationError) -> Message:
    """Return the messages of an error as one message, which can be stored and translated later."""
    if not isinstance(error, ValidationError):
        return error.message
    parts = [_untranslated(each) for each in ValidationError([error]).error_list[:MAX_PARTS]]
    if len(parts) == 1:
        return parts[0]
    named = {f"part{number}": part for number, part in enumerate(parts)}
    return Message(" ".join(f"%({name})s" for name in named), **named)


def _untranslated(error: ValidationError) -> Message:
    """Return the message of a single error; a message with a plural is filled in, as the number selects its form."""
    with override(None):
        template = str(error.message)
        return Message(template, **error.params or {}) if template else Message(*error.messages)


def validation_error(error: Refused, *, code: str = "invalid") -> ValidationError:
    """Convert a refusal of a pure module to Django's ValidationError."""
    return ValidationError(gettext_lazy(error.message.template), code, dict(error.message.params) or None)
