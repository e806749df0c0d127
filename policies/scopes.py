"""Users and licenses whose scope names a domain, for changes of domains."""

from collections.abc import Iterable, Iterator
from typing import Any

from gatewall.kernel.changes import Change, Described, describe, difference
from policies.models import AuthorizedDomain

_CHUNK = 500
_models: list[Any] = []


def scoped_by(*models: Any) -> None:
    """Take the models whose rows have ``authorized_domains``; ``gatewall.apps`` names them."""
    _models[:] = models


class Scopes:
    """The scopes that name any of these domains, by name, as they were when this was made."""

    def __init__(self, domains: Iterable[AuthorizedDomain]) -> None:
        ids = [domain.pk for domain in domains]
        self._before = {(found.resource, found.id): found for found in _naming(ids)}

    def cut(self) -> None:
        """Give each the domains of its names that are registered now: nobody may enter more than before."""
        names = {name for found in self._before.values() for name in found.fields["authorized_domains"]}
        registered = dict(AuthorizedDomain.objects.filter(name__in=names).values_list("name", "pk"))
        for row in self._rows_now():
            wanted = self._before[row.recorded.resource, row.pk].fields["authorized_domains"]
            row.authorized_domains.set(registered[name] for name in wanted if name in registered)

    def changes(self) -> Iterable[Change | None]:
        """Yield what became of each since."""
        for row in self._rows_now():
            yield difference(self._before[row.recorded.resource, row.pk], describe(row))

    def _rows_now(self) -> Iterator[Any]:
        for model in _models:
            ids = [id_ for kind, id_ in self._before if kind == model.recorded.resource]
            for start in range(0, len(ids), _CHUNK):
                rows = model.objects.filter(pk__in=ids[start : start + _CHUNK])
                yield from rows.order_by("pk").prefetch_related("authorized_domains")


def _naming(domains: list[int]) -> Iterator[Described]:
    for model in _models:
        rows = model.objects.filter(authorized_domains__in=domains).distinct().order_by("pk")
        yield from map(describe, rows.prefetch_related("authorized_domains").iterator(chunk_size=_CHUNK))
