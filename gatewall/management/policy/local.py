"""``gatewall policy`` on this host: through the same services as the API."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError

from gatewall.kernel.refusals import Refusal
from gatewall.management.policy.outcome import Exit, Failure, Json
from gatewall.whatif.as_of import with_rows_as_of
from gatewall.whatif.document_view import compare
from policies.document.document import DocumentRefused
from policies.document.export import export
from policies.document.schema import schema


class Local:
    """The policy of this host."""

    def export(self, revision: int | None) -> str:
        with _refusals_as_failures():
            document = export() if revision is None else with_rows_as_of(revision, export)[0]
        return document.canonical().decode()

    def schema(self) -> Json:
        return schema()

    def compare(self, document: str) -> Json:
        with _refusals_as_failures():
            return compare(document)


@contextmanager
def _refusals_as_failures() -> Iterator[None]:
    try:
        yield
    except DocumentRefused as refused:
        raise Failure(Exit.REFUSED, f"{refused.code}: {refused}", refused.details()) from None
    except Refusal as refused:
        raise Failure(Exit.REFUSED, f"{refused.code}: {refused}") from None
    except ValidationError as error:
        raise Failure(Exit.REFUSED, f"invalid: {' '.join(error.messages)}") from None
