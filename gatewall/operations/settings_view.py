"""The system settings over HTTP."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api import etags
from gatewall.api.operations import operation
from gatewall.api.serializers import FlagField, StrictInput, TextField, WholeNumberField
from gatewall.api.views import ApiView
from gatewall.engine.snapshot import AuditMode, DomainsMode, EnforcementMode, QueryStrings, StalePolicy, UnknownCountry
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings


def _one_of(enum: Any) -> serializers.ChoiceField:
    return serializers.ChoiceField(choices=[member.value for member in enum], required=False)


class SettingsInput(StrictInput):
    """Any subset of the settings."""

    authorized_domains_mode = _one_of(DomainsMode)
    waf_mode = _one_of(EnforcementMode)
    waf_threshold = WholeNumberField(min_value=1, max_value=100, required=False)
    geo_mode = _one_of(EnforcementMode)
    unknown_country = _one_of(UnknownCountry)
    request_rate_per_minute = WholeNumberField(min_value=0, max_value=1_000_000, required=False)
    session_hours = WholeNumberField(min_value=1, max_value=8760, required=False)
    login_failures_per_account_and_network = WholeNumberField(min_value=1, max_value=1_000, required=False)
    login_failures_per_network = WholeNumberField(min_value=1, max_value=100_000, required=False)
    login_failures_per_account = WholeNumberField(min_value=1, max_value=100_000, required=False)
    login_failure_window_minutes = WholeNumberField(min_value=1, max_value=1440, required=False)
    login_delay_seconds = WholeNumberField(min_value=1, max_value=3600, required=False)
    api_requests_per_minute = WholeNumberField(min_value=60, max_value=1_000_000, required=False)
    access_log_retention_days = WholeNumberField(min_value=1, max_value=3650, required=False)
    access_log_max_bytes = WholeNumberField(min_value=2**26, max_value=2**50, required=False)
    event_retention_days = WholeNumberField(min_value=1, max_value=3650, required=False)
    auto_ban_mode = _one_of(EnforcementMode)
    auto_ban_minutes = WholeNumberField(min_value=1, max_value=43_200, required=False)
    detector_window_minutes = WholeNumberField(min_value=1, max_value=60, required=False)
    brute_force_failures = WholeNumberField(min_value=5, max_value=500, required=False)
    stuffing_accounts = WholeNumberField(min_value=3, max_value=500, required=False)
    stuffing_accounts_overall = WholeNumberField(min_value=10, max_value=10_000, required=False)
    probing_targets = WholeNumberField(min_value=5, max_value=500, required=False)
    probing_rules = WholeNumberField(min_value=3, max_value=100, required=False)
    webhook_incident_minutes = WholeNumberField(min_value=1, max_value=1440, required=False)
    webhook_notices_per_hour = WholeNumberField(min_value=1, max_value=10_000, required=False)
    webhook_retention_days = WholeNumberField(min_value=1, max_value=365, required=False)
    audit_mode = _one_of(AuditMode)
    log_query_strings = _one_of(QueryStrings)
    stale_policy = _one_of(StalePolicy)
    stale_policy_seconds = WholeNumberField(min_value=15, max_value=86_400, required=False)
    recovery_local_only = FlagField(required=False)
    guard_message = TextField(max_length=500, allow_blank=True, required=False)
    contact = TextField(max_length=200, allow_blank=True, required=False)


class SettingsOutput(serializers.ModelSerializer[SystemSettings]):
    """All settings."""

    class Meta:
        model = SystemSettings
        exclude = ("id",)


class SettingsChanged(SettingsOutput):
    """All settings, and whether this host decides by them already."""

    policy_pending = serializers.BooleanField(required=False)

    class Meta(SettingsOutput.Meta):
        pass


class Settings(ApiView):
    """What operators set while the system runs."""

    @operation(answer=SettingsOutput, is_tagged=True)
    def get(self, request: Request) -> Response:
        """Show the system settings."""
        shown = _shown(system_settings.current())
        return etags.shown_if_changed(request, shown, etags.tag_of(shown))

    @operation(body=SettingsInput, answer=SettingsChanged, is_tagged=True, is_partial=True)
    def put(self, request: Request) -> Response:
        """Change the settings that are sent."""
        form = SettingsInput(data=request.data)
        form.is_valid(raise_exception=True)
        change = _change_as_they_are if etags.has_condition(request) else _change
        shown = _shown(change(request, form.validated_data))
        body = {**shown, "policy_pending": True} if revisions.publication_is_pending() else shown
        return Response(body, headers={"ETag": etags.tag_of(shown)})


def _change(request: Request, values: dict[str, Any]) -> SystemSettings:
    return system_settings.change(actor=str(request.user), **values)


@revisions.one_at_a_time  # from the look at the tag to the commit, nobody else changes them
def _change_as_they_are(request: Request, values: dict[str, Any]) -> SystemSettings:
    etags.refuse_stale(request, etags.tag_of(_shown(system_settings.current())))
    return _change(request, values)


def _shown(settings: SystemSettings) -> dict[str, Any]:
    return dict(SettingsOutput(settings).data)
