"""The system settings over HTTP."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.api.resources import fields_refused
from tests.support.proxies import PASSWORD

pytestmark = pytest.mark.django_db
DEFAULTS = {
    "authorized_domains_mode": "any",
    "waf_mode": "block",
    "waf_threshold": 5,
    "geo_mode": "block",
    "unknown_country": "allow",
    "request_rate_per_minute": 0,
    "session_hours": 24,
    "remember_device_days": 0,
    "login_failures_per_account_and_network": 10,
    "login_failures_per_network": 100,
    "login_failures_per_account": 1000,
    "login_failure_window_minutes": 15,
    "login_delay_seconds": 30,
    "api_requests_per_minute": 1200,
    "access_log_retention_days": 30,
    "access_log_max_bytes": 5 * 1024**3,
    "shadow_cpu_percent": 25,
    "signed_identity": "off",
    "event_retention_days": 90,
    "auto_ban_mode": "block",
    "auto_ban_minutes": 60,
    "detector_window_minutes": 10,
    "brute_force_failures": 20,
    "stuffing_accounts": 10,
    "stuffing_accounts_overall": 100,
    "probing_targets": 20,
    "probing_rules": 5,
    "webhook_incident_minutes": 15,
    "webhook_notices_per_hour": 100,
    "webhook_retention_days": 30,
    "account_notices": True,
    "mail_language": "en",
    "audit_mode": "best-effort",
    "log_query_strings": "masked",
    "stale_policy": "static",
    "stale_policy_seconds": 60,
    "recovery_local_only": True,
    "guard_message": "",
    "contact": "",
    "site_name": "",
    "theme_color": "",
}


def test_settings_have_their_defaults(admin):
    assert admin.get("/system/settings").json() == DEFAULTS


def test_any_subset_of_the_settings_may_be_changed(admin):
    response = admin.put("/system/settings", {"waf_mode": "monitor", "waf_threshold": 8})

    assert response.json() == admin.get("/system/settings").json()
    assert response.json() == {**DEFAULTS, "waf_mode": "monitor", "waf_threshold": 8}


def test_all_settings_may_be_sent_back(admin):
    assert admin.put("/system/settings", DEFAULTS).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("authorized_domains_mode", "all"),
        ("waf_mode", True),
        ("waf_mode", "BLOCK"),
        ("theme_color", "red"),
        ("theme_color", "#12345g"),
        ("theme_color", "#123456;"),
        ("theme_color", "#12345\n"),
        ("waf_threshold", 0),
        ("waf_threshold", 101),
        ("waf_threshold", "5"),
        ("waf_threshold", 5.0),
        ("waf_threshold", True),
        ("waf_threshold", None),
        ("geo_mode", ""),
        ("unknown_country", "monitor"),
        ("request_rate_per_minute", -1),
        ("session_hours", 0),
        ("session_hours", 10**20),
        ("event_retention_days", 0),
        ("event_retention_days", 3651),
        ("auto_ban_mode", "on"),
        ("auto_ban_minutes", 0),
        ("auto_ban_minutes", 43_201),
        ("detector_window_minutes", 61),
        ("brute_force_failures", 4),
        ("stuffing_accounts", 2),
        ("stuffing_accounts_overall", 9),
        ("probing_targets", 501),
        ("probing_rules", 2),
        ("webhook_incident_minutes", 0),
        ("webhook_notices_per_hour", 10_001),
        ("webhook_retention_days", 366),
        ("access_log_retention_days", 0),
        ("access_log_retention_days", 3651),
        ("access_log_max_bytes", 2**26 - 1),
        ("access_log_max_bytes", 2**50 + 1),
        ("access_log_max_bytes", "5 GiB"),
        ("audit_mode", "best effort"),
        ("log_query_strings", "on"),
        ("stale_policy", "off"),
        ("stale_policy_seconds", 14),
        ("stale_policy_seconds", 86_401),
        ("guard_message", "x" * 501),
        ("contact", 5),
        ("id", 2),
        ("colour", "red"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(admin, name, value):
    assert fields_refused(admin.put("/system/settings", {name: value})) == {name}


def test_a_refused_setting_leaves_the_others(admin):
    admin.put("/system/settings", {"waf_mode": "off", "waf_threshold": 0})

    assert admin.get("/system/settings").json() == DEFAULTS


def test_the_session_lifetime_is_a_setting(admin, anonymous):
    admin.put("/system/settings", {"session_hours": 1})

    response = anonymous.post("/login", {"username": "alice", "password": PASSWORD})

    assert response.cookies["service.token"]["expires"]
    assert datetime.fromisoformat(response.json()["expires_at"]) <= datetime.now(UTC) + timedelta(hours=1)
