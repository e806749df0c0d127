"""Serializer fields of registered domains: one, several, and the scope of a user or license."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies import selectors
from policies.models import AuthorizedDomain
from policies.validators import canonical_domain

_MAX_DOMAINS = 1000


class RegisteredDomainField(TextField):
    """The name of a registered domain; validates to its row."""

    default_error_messages = {"unregistered": _("{name} is not a registered domain")}

    def to_internal_value(self, data: Any) -> AuthorizedDomain:  # type: ignore[override]  # TextField gives the text
        name = canonical_domain(super().to_internal_value(data))
        domain = selectors.registered_domain(name)
        if domain is None:
            self.fail("unregistered", name=name)
        return domain


class RegisteredDomainsField(serializers.ListField):
    """Names of registered domains; the maximum number is checked before any lookup."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=RegisteredDomainField(), max_length=_MAX_DOMAINS, **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > _MAX_DOMAINS:
            self.fail("max_length", max_length=_MAX_DOMAINS)
        return super().to_internal_value(data)


class ScopeInput(StrictInput):
    """The domains a user or license is valid for, as sent."""

    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
