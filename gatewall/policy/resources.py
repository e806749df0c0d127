"""The descriptor of a policy resource: what backtests, API views, admin and operator pages know of its rows.

Each app registers its own in its ``resources.py``; ``gatewall.publication.resources`` has them all. What a revision
records of a row and what a restore needs stands on the model (``recorded``, ``segments``).
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
    """A way to write a row."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


CREATE_OR_UPDATE = frozenset({Write.CREATE, Write.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResource:
    """A resource: its rows, the services that write them, and what operators call a row (``title``).

    ``selector`` returns the rows with what is shown of them; without one, they are all rows of the model.

    ``create``, ``update`` and ``delete`` are services; None: there is no such way. ``guards`` has the ways that take
    the caller and ``force``, because they may lock the caller out; ``forces`` those that take ``force`` alone.
    ``draft`` is the serializer of a backtest's draft, without which there are no drafts; ``note`` the field that says
    which backtest a saved row comes from. ``subject`` is what the access log calls such a row as a subject.
    """

    model: Any
    title: str | Promise
    subject: str = ""
    selector: Callable[[], QuerySet[Any]] | None = None
    create: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    delete: Callable[..., Any] | None = None
    guards: frozenset[Write] = frozenset()
    forces: frozenset[Write] = frozenset()
    draft: Any = None
    note: str = "remark"

    @property
    def name(self) -> Resource:
        """The path segment in the API, by which revisions record the rows."""
        name: Resource = self.model.recorded.resource
        return name

    @property
    def logged_as(self) -> str:
        """What the access log calls a row, which decides or is the subject; empty if it never does."""
        return self.subject or (self.name.value if self.name in DECIDING else "")

    @property
    def admin_page(self) -> str:
        """The URL name of the admin page of a row."""
        options = self.model._meta  # noqa: SLF001 - Django's documented API
        return f"admin:{options.app_label}_{options.model_name}_change"

    def rows(self) -> QuerySet[Any]:
        """Return the rows, by the selector if there is one."""
        rows: QuerySet[Any] = self.selector() if self.selector else self.model.objects.all()
        return rows

    def write(self, way: Write, *row: Any, actor: str, caller: Caller | None, force: bool, **values: Any) -> Any:
        """Call the service; ``caller`` and ``force`` reach those that take them. Raises what the service raises."""
        if way in self.guards:
            values |= {"caller": caller, "force": force}
        elif way in self.forces:
            values |= {"force": force}
        return getattr(self, way)(*row, actor=actor, **values)
