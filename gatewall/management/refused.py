"""Show refusals of services, and invalid values, as the one-line errors of a command."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from gatewall.kernel.refusals import Refusal


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Raise CommandError with one line for a refusal of a service, or an invalid value."""
    try:
        yield
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    except Refusal as refusal:
        raise CommandError(str(refusal)) from None
