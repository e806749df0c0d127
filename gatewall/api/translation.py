"""What services and pure modules refuse, in the reader's language. In a view of the API that is English."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from gatewall.engine.messages import Message, Refused
from gatewall.kernel.refusals import Refusal


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


def validation_error(error: Refused, *, code: str = "invalid") -> ValidationError:
    """Return Django's error for a value that a pure module refuses."""
    return ValidationError(gettext_lazy(error.message.template), code, dict(error.message.params) or None)
