"""Which scopes an API token needs to apply a policy document."""

from collections.abc import Iterator

from gatewall.api.scopes import SYSTEM, Area
from policies.document.comparison import changes
from policies.document.document import Document
from policies.document.sections import SETTINGS


def areas_of_document(document: Document) -> Iterator[tuple[Area, None]]:
    """Yield the areas besides policy in which applying the document changes something: the system settings."""
    if document.settings is not None and any(change.section == SETTINGS for change in changes(document)):
        yield SYSTEM, None
