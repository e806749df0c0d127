"""Table of all Prometheus metrics: type, help text and labels."""

from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

FAMILIES: dict[str, tuple[type[Any], str, tuple[str, ...]]] = {
    "gatewall_decisions": (
        CounterMetricFamily,
        "Answers that are in the access log, since the installation.",
        ("outcome", "reason"),
    ),
    "gatewall_decision_duration_seconds": (
        HistogramMetricFamily,
        "Time to answer; its sum is up to a tenth too large.",
        (),
    ),
    "gatewall_log_lost_records": (
        CounterMetricFamily,
        "Records missing in the access log: dropped, damaged or torn.",
        ("kind",),
    ),
    "gatewall_log_shortened_rows": (
        CounterMetricFamily,
        "Rows removed because the access log was too large: folded or deleted.",
        ("kind",),
    ),
    "gatewall_log_bytes": (GaugeMetricFamily, "Size of the access log in the database.", ()),
    "gatewall_log_lag_seconds": (
        GaugeMetricFamily,
        "Age of the oldest record that waits on a host; absent while it is not known.",
        ("node",),
    ),
    "gatewall_spool_bytes": (GaugeMetricFamily, "Bytes that wait to be shipped to the database.", ("node",)),
    "gatewall_security_events": (
        CounterMetricFamily,
        "Security events, each counted as often as it happened.",
        ("kind", "severity"),
    ),
    "gatewall_logins": (
        CounterMetricFamily,
        "Sign-ins: succeeded, failed (wrong password or code) or locked (delayed).",
        ("result",),
    ),
    "gatewall_networks_banned": (CounterMetricFamily, "Automatic bans created.", ("detector",)),
    "gatewall_sessions": (GaugeMetricFamily, "Valid sessions.", ()),
    "gatewall_bans": (GaugeMetricFamily, "Automatic bans in force.", ()),
    "gatewall_policy_revision": (GaugeMetricFamily, "Committed revision of the policy.", ()),
    "gatewall_node_policy_revision": (GaugeMetricFamily, "Revision that a host has published.", ("node",)),
    "gatewall_worker_policy_revision": (
        GaugeMetricFamily,
        "Revision that a worker decides with.",
        ("node", "slot"),
    ),
    "gatewall_worker_policy_rejected": (
        GaugeMetricFamily,
        "1 while a worker refuses a newer policy.",
        ("node", "slot"),
    ),
    "gatewall_worker_heads": (
        GaugeMetricFamily,
        "Heads of requests that a worker remembers, for the parts of a page.",
        ("node", "slot"),
    ),
    "gatewall_worker_heads_bytes": (GaugeMetricFamily, "Bytes of these heads.", ("node", "slot")),
    "gatewall_worker_heads_found": (
        CounterMetricFamily,
        "Requests whose head was remembered (`hit`), and others (`miss`), since the worker started.",
        ("node", "slot", "result"),
    ),
    "gatewall_policy_unconfirmed_seconds": (
        GaugeMetricFamily,
        "Time since a host's policy was last confirmed against the database; since its boot if it never was.",
        ("node",),
    ),
    "gatewall_node_silence_seconds": (GaugeMetricFamily, "Time since the agent of a host last reported.", ("node",)),
    "gatewall_node_problem": (GaugeMetricFamily, "1 while the agent of a host reports a problem.", ("node",)),
    "gatewall_waf": (GaugeMetricFamily, "1 for the engine and mode of the WAF in use.", ("engine", "mode")),
    "gatewall_waf_rules": (GaugeMetricFamily, "Enabled WAF rules.", ()),
    "gatewall_geo_database_age_seconds": (
        GaugeMetricFamily,
        "Age of the geo database; absent without one.",
        (),
    ),
    "gatewall_lists": (
        GaugeMetricFamily,
        "Subscribed lists: ok, failing, new (not fetched yet) or off.",
        ("state",),
    ),
    "gatewall_list_age_seconds": (
        GaugeMetricFamily,
        "Time since the stalest subscribed list was fetched; absent without one.",
        (),
    ),
}
"""Every metric: type, help text and labels. docs/reference/metrics.md is generated from this."""


def family(name: str) -> Any:
    """Return an empty metric family from the table."""
    kind, words, labels = FAMILIES[name]
    return kind(name, words, labels=labels)


def gauge(name: str, value: float) -> Any:
    """Return a metric family without labels, with its value."""
    found = family(name)
    found.add_metric([], value)
    return found
