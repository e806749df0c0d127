"""Update the scopes of users, groups, app tokens and licenses when domains change."""

from collections.abc import Iterable, Iterator
from typing import Any

from gatewall.kernel.changes import Change, Described, describe, difference
from policies.models import AuthorizedDomain

_CHUNK = 500
_models: list[Any] = []


def scoped_by(*models: Any) -> None:
    """Register the models with ``authorized_domains``; ``gatewall.apps`` calls this, to avoid imports of those apps."""
    _models[:] = models


class Scopes:
    """The scopes of users, groups, app tokens and licenses that contained one of the domains before a change."""

    def __init__(self, domains: Iterable[AuthorizedDomain], *, besides: Iterable[tuple[str, int]] = ()) -> None:
        """``besides``: resources and ids of rows to leave out, because the caller writes their scopes."""
        ids, others = [domain.pk for domain in domains], set(besides)
        scopes = {(scope.resource, scope.id): scope for scope in _describe_scopes(ids)}
        self._before = {key: scope for key, scope in scopes.items() if key not in others}

    def cut(self) -> None:
        """Reduce each scope to those of its domain names that are still registered; no scope becomes wider."""
        names = {name for scope in self._before.values() for name in scope.fields["authorized_domains"]}
        registered = dict(AuthorizedDomain.objects.filter(name__in=names).values_list("name", "pk"))
        for row in self._rows_now():
            names_before = self._before[row.recorded.resource, row.pk].fields["authorized_domains"]
            row.authorized_domains.set(registered[name] for name in names_before if name in registered)

    def changes(self) -> Iterable[Change | None]:
        """Yield the change of each scope since this object was created."""
        for row in self._rows_now():
            yield difference(self._before[row.recorded.resource, row.pk], describe(row))

    def _rows_now(self) -> Iterator[Any]:
        for model in _models:
            ids = [id_ for kind, id_ in self._before if kind == model.recorded.resource]
            for start in range(0, len(ids), _CHUNK):
                rows = model.objects.filter(pk__in=ids[start : start + _CHUNK])
                yield from rows.order_by("pk").prefetch_related("authorized_domains")


def _describe_scopes(domains: list[int]) -> Iterator[Described]:
    for model in _models:
        rows = model.objects.filter(authorized_domains__in=domains).distinct().order_by("pk")
        yield from map(describe, rows.prefetch_related("authorized_domains").iterator(chunk_size=_CHUNK))
