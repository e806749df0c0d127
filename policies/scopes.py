"""Users and licenses whose scope names a domain, for changes of domains.

Reached through reverse relations, to avoid importing accounts and licensing.
"""

from collections.abc import Iterable
from typing import Any

from gatewall.kernel.changes import Change, Described, Resource, describe, difference
from policies.models import AuthorizedDomain

_SUBJECTS = {Resource.USERS: "users", Resource.LICENSES: "licenses"}
_CHUNK = 500


class Scopes:
    """The scopes that name any of these domains, by name, as they were when this was made."""

    def __init__(self, domains: Iterable[AuthorizedDomain]) -> None:
        ids = [domain.pk for domain in domains]
        self._before = {(found.resource, found.id): found for found in _naming(ids)}

    def cut(self) -> None:
        """Give each the domains of its names that are registered now: nobody may enter more than before."""
        names = {name for found in self._before.values() for name in found.fields["authorized_domains"]}
        registered = dict(AuthorizedDomain.objects.filter(name__in=names).values_list("name", "pk"))
        for subject in self._subjects_now():
            wanted = self._before[subject[0], subject[1].pk].fields["authorized_domains"]
            subject[1].authorized_domains.set(registered[name] for name in wanted if name in registered)

    def changes(self) -> Iterable[Change | None]:
        """Yield what became of each since."""
        for resource, subject in self._subjects_now():
            yield difference(self._before[resource, subject.pk], describe(subject))

    def _subjects_now(self) -> Iterable[tuple[Resource, Any]]:
        for resource in _SUBJECTS:
            ids = [id_ for kind, id_ in self._before if kind == resource]
            for start in range(0, len(ids), _CHUNK):
                rows = _model(resource)._default_manager.filter(pk__in=ids[start : start + _CHUNK])  # noqa: SLF001 - public by its documentation
                for row in rows.order_by("pk").prefetch_related("authorized_domains"):
                    yield resource, row


def _naming(domains: list[int]) -> Iterable[Described]:
    for resource in _SUBJECTS:
        rows = _model(resource)._default_manager.filter(authorized_domains__in=domains).distinct()  # noqa: SLF001 - as above
        for row in rows.order_by("pk").prefetch_related("authorized_domains").iterator(chunk_size=_CHUNK):
            yield describe(row)


def _model(resource: Resource) -> Any:
    return AuthorizedDomain._meta.get_field(_SUBJECTS[resource]).related_model  # noqa: SLF001 - as above
