"""API views of the app profiles."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.caller import caller_of
from gatewall.api.operations import operation
from gatewall.api.pagination import MAX_PAGE, MAX_PAGE_SIZE, PAGE_SIZE, Pages, wants_everything
from gatewall.api.queries import refuse_unknown_parameters
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import StrictInput
from gatewall.api.views import ApiView
from gatewall.policy import revisions
from policies.access_rules.serializers import AccessRulePath
from policies.access_rules.warnings import warnings_about
from policies.app_profiles.applying import apply_profile, remove_profile
from policies.app_profiles.loading import AppProfile, profiles
from policies.serializers import RegisteredDomainField

_PAGES = {
    "page": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1},
    "page_size": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
    "all": {"type": "boolean", "default": False},
}


class _ProfileRule(serializers.Serializer[Any]):
    name = serializers.CharField()
    paths = AccessRulePath(many=True)
    methods = serializers.ListField(child=serializers.CharField())
    access = serializers.CharField()
    opens = serializers.CharField()
    safe_because = serializers.CharField()
    needs = serializers.CharField()


class _Exclusion(serializers.Serializer[Any]):
    rules = serializers.ListField(child=serializers.CharField())
    exclusion = serializers.DictField(source="fields", child=serializers.CharField())
    why = serializers.CharField()
    source = serializers.URLField()  # type: ignore[assignment]  # DRF removes declared fields from the class


class _NotOpened(serializers.Serializer[Any]):
    what = serializers.CharField()
    reason = serializers.CharField()


class AppProfileOutput(serializers.Serializer[Any]):
    """The access rules that let the clients of an app through, its WAF exclusions, their reasons and sources."""

    name = serializers.CharField()
    title = serializers.CharField()
    sources = serializers.ListField(child=serializers.URLField())
    rules = _ProfileRule(many=True)
    not_opened = _NotOpened(many=True)
    waf_exclusions = _Exclusion(many=True)


class AppProfilesOutput(serializers.Serializer[Any]):
    """A page of profiles."""

    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = AppProfileOutput(many=True)


class AppProfileApplyInput(StrictInput):
    """The registered domain of the app."""

    domain = RegisteredDomainField()


class _CreatedRule(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    position = serializers.IntegerField()
    name = serializers.CharField()
    access = serializers.CharField()


class AppProfileApplied(serializers.Serializer[Any]):
    """The created access rules, the WAF rules with new exclusions, and warnings, with settings that the app needs."""

    profile = serializers.CharField()
    domain = serializers.CharField()
    rules = _CreatedRule(many=True)
    waf_rules = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    policy_pending = serializers.BooleanField(required=False)


class AppProfileRemoved(serializers.Serializer[Any]):
    """The names of the deleted access rules, and of the WAF rules that lost exclusions."""

    profile = serializers.CharField()
    domain = serializers.CharField()
    rules = serializers.ListField(child=serializers.CharField())
    waf_rules = serializers.ListField(child=serializers.CharField())
    policy_pending = serializers.BooleanField(required=False)


class AppProfiles(ApiView):
    """The app profiles."""

    area = POLICY

    @operation(answer=AppProfilesOutput, parameters=_PAGES, refuses={404}, verb="list")
    def get(self, request: Request) -> Response:
        """List the app profiles, sorted by name."""
        refuse_unknown_parameters(request, _PAGES)
        rows = list(profiles().values())
        if wants_everything(request):
            shown = AppProfileOutput(rows, many=True).data
            return Response({"count": len(rows), "next": None, "previous": None, "results": shown})
        pages = Pages()
        page = pages.paginate_queryset(rows, request, self)
        return pages.get_paginated_response(AppProfileOutput(page, many=True).data)


class AppProfileEntry(ApiView):
    """One app profile."""

    area = POLICY

    @operation(answer=AppProfileOutput)
    def get(self, request: Request, name: str) -> Response:
        """Show an app profile."""
        return Response(AppProfileOutput(_named(name)).data)


class AppProfileApply(ApiView):
    """Application of an app profile to a domain."""

    area = POLICY

    @operation(body=AppProfileApplyInput, answer=AppProfileApplied, refuses={409})
    def post(self, request: Request, name: str) -> Response:
        """Create the access rules of a profile for a domain, after all others, and WAF exclusions, in one revision."""
        profile = _named(name)
        domain = self.body(AppProfileApplyInput)["domain"]
        rules, excluding = apply_profile(profile, domain, actor=str(request.user), caller=caller_of(request))
        warnings = [f"{rule.name}: {rule.needs}" for rule in profile.rules if rule.needs]
        warnings += [f"{rule.name}: {warning}" for rule in rules for warning in warnings_about(rule)]
        names = [rule.name for rule in excluding]
        applied = {"profile": profile.name, "domain": domain.name, "rules": rules, "waf_rules": names}
        return _written(AppProfileApplied({**applied, "warnings": warnings}).data)


class AppProfileRemove(ApiView):
    """Removal of an app profile from a domain."""

    area = POLICY

    @operation(body=AppProfileApplyInput, answer=AppProfileRemoved, refuses={409})
    def post(self, request: Request, name: str) -> Response:
        """Delete the access rules and WAF exclusions that a profile created for a domain, in one revision."""
        profile = _named(name)
        domain = self.body(AppProfileApplyInput)["domain"]
        rules, changed = remove_profile(profile, domain, actor=str(request.user), caller=caller_of(request))
        removed = {"profile": profile.name, "domain": domain.name, "rules": rules, "waf_rules": changed}
        return _written(AppProfileRemoved(removed).data)


def _written(body: Any) -> Response:
    """Return a response with ``policy_pending`` if the policy is not published yet."""
    return Response({**body, **({"policy_pending": True} if revisions.publication_is_pending() else {})})


def _named(name: str) -> AppProfile:
    """Return the profile of this name. Raises Http404."""
    if name not in profiles():
        raise Http404
    return profiles()[name]
