"""Descriptor of a policy resource, for backtests, API views, admin and operator pages.

Each app registers its resources in its ``resources.py``; ``gatewall.publication.resources`` collects them. The model
declares the fields that revisions record (``recorded``), and the ``segments`` that a restore needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet
from django.utils.functional import Promise

from gatewall.kernel.changes import DECIDING, Resource
from gatewall.kernel.clientip import Caller


class Write(StrEnum):
    """An operation on a row."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


CREATE_OR_UPDATE = frozenset({Write.CREATE, Write.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResource:
    """A resource: its rows, the services that write them, its display name (``title``) and its ``help_page``.

    ``help_page`` is the page of ``docs/`` that its admin pages link to, with the heading after ``#``.
    ``selector`` returns the rows with computed columns; by default all rows of the model.

    ``create``, ``update`` and ``delete`` are services, None if not supported. ``guards``: operations that take the
    caller and ``force``, as they may lock the caller out; ``forces``: operations that only take ``force``. ``draft``:
    serializer of a backtest's draft, if drafts are supported; ``note``: field that names a saved row's backtest;
    ``subject``: the row's kind as a subject in the access log. ``is_single``: one row that always exists and has no id
    in the API; ``update`` takes no row.
    """

    model: Any
    title: str | Promise
    help_page: str
    subject: str = ""
    selector: Callable[[], QuerySet[Any]] | None = None
    create: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    delete: Callable[..., Any] | None = None
    guards: frozenset[Write] = frozenset()
    forces: frozenset[Write] = frozenset()
    draft: Any = None
    note: str = "remark"
    is_single: bool = False

    @property
    def name(self) -> Resource:
        """The API path segment, which also identifies the resource in revisions."""
        name: Resource = self.model.recorded.resource
        return name

    @property
    def logged_as(self) -> str:
        """The row's kind in the access log, as deciding row or subject; empty if it is never logged."""
        return self.subject or (self.name.value if self.name in DECIDING else "")

    @property
    def admin_page(self) -> str:
        options = self.model._meta  # noqa: SLF001 - Django's documented API
        return f"admin:{options.app_label}_{options.model_name}_change"

    def rows(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.selector() if self.selector else self.model.objects.all()
        return rows

    def write(self, way: Write, *row: Any, actor: str, caller: Caller | None, force: bool, **values: Any) -> Any:
        """Call the service, with ``caller`` and ``force`` if it takes them. Raises the errors of the service."""
        if way in self.guards:
            values |= {"caller": caller, "force": force}
        elif way in self.forces:
            values |= {"force": force}
        return getattr(self, way)(*row, actor=actor, **values)
