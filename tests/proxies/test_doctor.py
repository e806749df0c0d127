"""The doctor with a real nginx: as in deploy/nginx, forgeable, bypassing the gate, and with a changed 403."""

import json
import subprocess

import pytest

from gatewall.install.ports import free_port
from gatewall.kernel.detectors import Limits
from tests.proxies.changed import (
    APPENDED,
    BELIEVING,
    FORWARDING,
    HOST_KEPT,
    KEPT,
    METHOD_KEPT,
    MUTE,
    PROTECT,
    SITE,
    URI_DECODED,
    URI_KEPT,
    changed_nginx,
)
from tests.support.processes import (
    BASE,
    agent,
    control_plane,
    data_plane,
    environment,
    manager,
    prepare,
    send,
    token_of,
)
from tests.support.upstream import Upstream

OK, WRONG, UNKNOWN, NOT_HERE = "ok", "wrong", "unknown", "not-applicable"
ALL_WELL = {
    "asked": OK,
    "trusted-peer": OK,
    "client-address": OK,
    "host": OK,
    "method": OK,
    "uri": OK,
    "identity": NOT_HERE,
    "sign-in": OK,
    "refusal": OK,
    "hidden": OK,
    "asked-every-time": OK,
    "connections": OK,
    "around": NOT_HERE,
}


class Installation:
    """One Gatewall with both planes, and a site behind it."""

    def __init__(self, home, control, auth, site):
        self.home, self.control, self.auth, self.site, self.site_port = home, control, auth, site, site.port
        self.token = token_of(control)

    def examine(self, port, proxy="nginx", **more):
        """Return the report about the site behind the proxy at this port."""
        return send(
            self.control,
            self.token,
            "POST",
            "/system/doctor",
            {"url": f"http://127.0.0.1:{port}/", "proxy": proxy, **more},
        )


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    home, control, auth = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    with agent(home), control_plane(home, control, GATEWALL_WORKERS="1"), data_plane(home, auth), Upstream() as site:
        yield Installation(home, control, auth, site)


def verdicts(report):
    return {check["id"]: check["verdict"] for check in report["checks"]}


def codes(report, check, verdict=WRONG):
    """Return the findings of a check with this verdict."""
    (found,) = [entry for entry in report["checks"] if entry["id"] == check]
    return {finding["code"] for finding in found["findings"] if finding["verdict"] == verdict}


def test_the_sample_is_found_to_be_right(wall, tmp_path):
    with changed_nginx(tmp_path, wall) as port:
        report = wall.examine(port)

    assert verdicts(report) == ALL_WELL, json.dumps(report["checks"], indent=1)
    assert report["verdict"] == OK


def test_a_site_that_listens_on_loopback_alone_cannot_be_reached_around_the_gate(wall, tmp_path):
    with changed_nginx(tmp_path, wall) as port:
        before = len(wall.site.requests)
        report = wall.examine(port, upstream=f"127.0.0.1:{wall.site_port}")

    assert verdicts(report) == ALL_WELL | {"around": OK}, json.dumps(report["checks"], indent=1)
    assert "around-this-machine" in codes(report, "around", OK)
    assert len(wall.site.requests) == before + 1
    assert next(each["at"] for each in report["probes"] if each["at"]) == f"127.0.0.1:{wall.site_port}"


def test_an_upstream_that_is_guarded_itself_asks_the_gate_there_too(wall, tmp_path):
    with changed_nginx(tmp_path, wall) as port:
        report = wall.examine(port, upstream=f"127.0.0.1:{port}")

    assert codes(report, "around", OK) >= {"around-asked"}


FORGEABLE = {
    "client address kept": ([KEPT], "client-address", {"client-not-told", "client-forged"}),
    "client address appended, asked from a trusted address": (
        [APPENDED],
        "client-address",
        {"client-forged-by-trusted"},
    ),
    "X-Real-IP believed": (
        [(FORWARDING, "X-Forwarded-For $remote_addr;", "X-Forwarded-For $http_x_real_ip;")],
        "client-address",
        {"client-not-told", "client-forged"},
    ),
    "host kept": ([HOST_KEPT], "host", {"host-not-told", "host-forged"}),
    "host of the visitor passed through": (
        [(FORWARDING, "X-Forwarded-Host $gatewall_host;", "X-Forwarded-Host $doctors_host;")],
        "host",
        {"host-forged"},
    ),
    "scheme of the visitor passed through": (
        [(FORWARDING, "X-Forwarded-Proto $scheme;", "X-Forwarded-Proto $doctors_scheme;")],
        "host",
        {"scheme-forged"},
    ),
    "method override believed": (
        [(FORWARDING, "X-Forwarded-Method $request_method;", "X-Forwarded-Method $doctors_method;")],
        "method",
        {"method-forged"},
    ),
    "method not told": ([METHOD_KEPT], "method", {"method-not-told", "method-forged"}),
    "path of the visitor passed through": (
        [(FORWARDING, "X-Forwarded-Uri $request_uri;", "X-Forwarded-Uri $doctors_uri;")],
        "uri",
        {"uri-forged"},
    ),
    "path not told": ([URI_KEPT], "uri", {"uri-not-told", "uri-forged"}),
    "path decoded and without its query": ([URI_DECODED], "uri", {"uri-other", "query-lost"}),
}


@pytest.mark.parametrize("name", FORGEABLE)
def test_a_forgeable_header_is_found(wall, tmp_path, name):
    changes, check, expected = FORGEABLE[name]
    with changed_nginx(tmp_path, wall, [BELIEVING, *changes]) as port:
        report = wall.examine(port)

    found = verdicts(report)
    assert codes(report, check) == expected, json.dumps(report["checks"], indent=1)
    assert {id_ for id_, verdict in found.items() if verdict == WRONG} == {check}
    (wrong,) = [entry for entry in report["checks"] if entry["id"] == check]
    assert "proxy_set_header X-Forwarded-" in wrong["fix"]["snippets"][0]["text"]


def test_a_proxy_that_bypasses_the_gate_is_found_and_gets_one_probe(wall, tmp_path):
    before = len(wall.site.requests)
    with changed_nginx(tmp_path, wall, [MUTE]) as port:
        report = wall.examine(port)

    assert codes(report, "asked") == {"walked-around"}
    assert set(verdicts(report).values()) == {WRONG, UNKNOWN}
    assert [probe["name"] for probe in report["probes"]] == ["plain"]
    assert len(wall.site.requests) == before + 1
    assert "auth_request /_gatewall/auth" in report["checks"][0]["fix"]["snippets"][0]["text"]


HALF_MUTE = (SITE, "    location / {", '    location ~ ";b=c" { proxy_pass http://127.0.0.1:%d; }\n    location / {')


def test_a_path_that_bypasses_the_gate_is_found(wall, tmp_path):
    name, old, new = HALF_MUTE
    with changed_nginx(tmp_path, wall, [(name, old, new % wall.site.port)]) as port:
        report = wall.examine(port)

    assert codes(report, "uri") == {"walked-around-by"}


ANSWERS = {
    "403 as 200": (
        (PROTECT, "error_page 403 $gatewall_refusal;", "error_page 403 =200 @gatewall_forbidden;"),
        "refusal",
    ),
    "403 as 404": ((PROTECT, "error_page 403 $gatewall_refusal;", "error_page 403 =404 /sorry;"), "refusal"),
    "401 as 403": (
        (PROTECT, "error_page 401 = @gatewall_guard;", "error_page 401 =403 @gatewall_forbidden;"),
        "sign-in",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_changed_answer_is_found(wall, tmp_path, name):
    change, check = ANSWERS[name]
    with changed_nginx(tmp_path, wall, [change]) as port:
        report = wall.examine(port)

    assert {id_ for id_, verdict in verdicts(report).items() if verdict == WRONG} == {check}
    expected = {"refusal": {"refusal-other"}, "sign-in": {"program-other", "page-not-redirected"}}[check]
    assert codes(report, check) == expected, json.dumps(report["checks"], indent=1)


def test_exposed_metrics_are_found(wall, tmp_path):
    locations = "gatewall/gatewall-locations.conf"
    change = (locations, "location = /wall/metrics {\n    return 404;\n}", "")
    with changed_nginx(tmp_path, wall, [change]) as port:
        report = wall.examine(port)

    assert codes(report, "hidden") == {"not-hidden"}
    assert {id_ for id_, verdict in verdicts(report).items() if verdict == WRONG} == {"hidden"}


def test_a_cached_answer_of_the_gate_is_found(wall, tmp_path):
    kept = (
        "proxy_cache doctors; proxy_cache_valid any 1m; "
        "proxy_ignore_headers Cache-Control; proxy_cache_key $request_uri;"
    )
    changes = [
        (
            "gatewall/gatewall-locations.conf",
            "    proxy_cache off;\n    proxy_store off;\n    proxy_intercept_errors on;\n    rec",
            f"    {kept}\n    proxy_intercept_errors on;\n    rec",
        ),
        (
            SITE,
            "include gatewall/gatewall-proxy.conf;",
            f"proxy_cache_path {tmp_path}/cache keys_zone=doctors:1m;\ninclude gatewall/gatewall-proxy.conf;",
        ),
    ]
    with changed_nginx(tmp_path, wall, changes) as port:
        report = wall.examine(port)

    assert codes(report, "asked-every-time") == {"remembered"}


def test_a_gate_that_is_down_is_not_reported_as_bypassed(wall, tmp_path):
    with changed_nginx(
        tmp_path, wall, [(SITE, f"server 127.0.0.1:{wall.auth};", f"server 127.0.0.1:{free_port()};")]
    ) as port:
        report = wall.examine(port)

    assert codes(report, "asked", UNKNOWN) == {"proxy-failed"}


def test_an_examination_trips_fewer_rules_than_lead_to_a_ban(wall, tmp_path):
    with changed_nginx(tmp_path, wall) as port:
        report = wall.examine(port)

    refused = [probe["recorded"] for probe in report["probes"] if (probe["recorded"] or {}).get("reason") == "waf-rule"]
    rows = [send(wall.control, wall.token, "GET", f"/access-logs/{record['decision_id']}") for record in refused]
    assert 2 <= len(rows) <= 3
    assert len({rule["id"] for row in rows for rule in row["rules"]}) < Limits().probing_rules
    assert {row["user_agent"].partition(" ")[0] for row in rows} == {"Gatewall-Doctor/1"}


def test_the_exit_code_of_the_command_is_its_verdict(wall, tmp_path):
    def run(port, *more):
        command = manager("doctor", "http://localhost/", "--connect", f"127.0.0.1:{port}", "--proxy", "nginx", *more)
        ended = subprocess.run(
            command, cwd=BASE, env=environment(wall.home), capture_output=True, text=True, timeout=60, check=False
        )
        return ended.returncode, ended.stdout

    (tmp_path / "right").mkdir()
    (tmp_path / "mute").mkdir()
    with changed_nginx(tmp_path / "right", wall) as port:
        right = run(port), run(port, "--json")
    with changed_nginx(tmp_path / "mute", wall, [MUTE]) as port:
        mute = run(port)
    nobody = run(free_port())

    assert right[0][0] == 0
    assert "Client address" in right[0][1]
    assert json.loads(right[1][1])["verdict"] == OK
    assert mute[0] == 1
    assert "requests bypass it" in mute[1]
    assert "auth_request /_gatewall/auth;" in mute[1]
    assert nobody[0] == 2
