"""Show refusals of services, and invalid values, as the one-line errors of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import CommandError

from gatewall.kernel.refusals import Refusal


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Raise CommandError with one line for a refusal of a service, or an invalid value."""
    try:
        yield
    except ValidationError as error:
        raise CommandError(_in_one_line(error)) from None
    except Refusal as refusal:
        raise CommandError(str(refusal)) from None


def _in_one_line(error: ValidationError) -> str:
    """Return the errors in one line, each with its field, because a message does not name its value."""
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    fields = error.message_dict.items()
    return " ".join(
        " ".join(messages) if field == NON_FIELD_ERRORS else f"{field}: {' '.join(messages)}"
        for field, messages in fields
    )
