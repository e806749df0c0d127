"""Export the policy of the current transaction as a document."""

from collections.abc import Iterable

from django.db import transaction

from gatewall.kernel.changes import describe
from gatewall.policy import system_settings
from policies.document.document import Document, Rows
from policies.document.sections import SECTIONS, SETTINGS, Section

ALL = frozenset({SETTINGS, *(section.name for section in SECTIONS)})


def export(sections: Iterable[str] = ALL) -> Document:
    """Return the policy in this transaction as a document with these sections.

    Expired entries of the lists, automatic bans and entries of subscriptions are not included.
    """
    wanted = frozenset(sections)
    with transaction.atomic():
        settings = dict(describe(system_settings.current()).fields) if SETTINGS in wanted else None
        return Document(settings, {each.name: rows_of(each) for each in SECTIONS if each.name in wanted})


def rows_of(section: Section) -> Rows:
    """Return the rows of a section by their key; of built-in rules, only the changed ones."""
    return section.listed({section.key_of(row): row for row in map(section.row_of, section.queryset())})
