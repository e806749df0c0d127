"""What services and pure modules refuse, in the reader's language. In a view of the API that is English."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy, override

from gatewall.engine.messages import Message, Refused
from gatewall.kernel.refusals import Refusal

MAX_PARTS = 100
"""Messages of one error that are stored."""


def translated(message: str) -> str:
    """Return a message in the active language: its template is translated, then its parameters are filled in.

    A parameter may be a message itself. Any other text is looked up as it is.
    """
    if not isinstance(message, Message):
        return gettext(message) if message else ""
    params = {name: translated(each) if isinstance(each, Message) else each for name, each in message.params.items()}
    text = gettext(message.template)
    return text % params if params else text


def messages_of(error: Refusal | Refused | ValidationError) -> list[str]:
    """Return the messages of an error in the active language."""
    return error.messages if isinstance(error, ValidationError) else [translated(error.message)]


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
    """Return the message of a single error; one with a plural is filled in, as its template depends on the number."""
    with override(None):
        template = str(error.message)
        return Message(template, **error.params or {}) if template else Message(*error.messages)


def validation_error(error: Refused, *, code: str = "invalid") -> ValidationError:
    """Return Django's error for a value that a pure module refuses."""
    return ValidationError(gettext_lazy(error.message.template), code, dict(error.message.params) or None)
