"""Programs for metrics and synchronized folders, used by their interfaces as dashboards and scripts do."""

import xml.etree.ElementTree as ET

from tests.corpora.programs.explore import settle
from tests.corpora.programs.session import Session, segment

_QUERIES = (
    "up", 'rate(http_requests_total{job="api",status=~"5.."}[5m]) > 0.5', "sum by (job, le) (rate(a_bucket[5m]))",
    "histogram_quantile(0.95, sum(rate(http_request_duration_seconds_bucket[5m])) by (le))",
    '100 - (avg by (instance) (irate(node_cpu_seconds_total{mode="idle"}[5m])) * 100)',
    'label_replace(up, "host", "$1", "instance", "(.*):.*")', "topk(5, sum(rate(x_total[1m])) by (pod))",
    "predict_linear(node_filesystem_free_bytes[1h], 4 * 3600) < 0", 'count({__name__=~".+"}) by (__name__)',
    "up == 1 and on(instance) node_load1 > 2 or vector(0)", 'absent(up{job="db"}) unless on() vector(1)',
    "max_over_time(deriv(rate(distance_total[5s])[30s:5s] offset 5m)[10m:])", "floor(time() / 60) % 5 == bool 0",
    'increase(a_total{path!~"/(health|ready)"}[$__interval])', "min(x) / ignoring(a) group_left max(y) ^ 2",
)  # fmt: skip


def prometheus(session: Session) -> None:
    """Queries as Grafana sends them, series, labels, federation and the page."""
    config = session.folder / "prometheus.yml"
    config.write_text("global:\n  scrape_interval: 5s\n")
    program = str(session.deb("prometheus") / "usr/bin/prometheus")
    options = [f"--config.file={config}", f"--storage.tsdb.path={session.folder}/tsdb", "--web.enable-lifecycle"]
    session.serve(lambda port: [program, *options, f"--web.listen-address=127.0.0.1:{port}"], ready="/-/ready")
    content = session.content
    for number in range(45):
        query = _QUERIES[number % len(_QUERIES)].replace("x_total", f"x{number}_total")
        matched = f'{{job="{content.one_of("api", "web", "db")}",instance=~"{content.number()}.*"}}'
        steps = {"start": "1764000000", "end": "1764003600", "step": "15"}
        session.send("POST", "/api/v1/query_range", data={"query": query, **steps})
        session.send("POST", "/api/v1/query", data={"query": query, "time": 1_764_000_000 + number})
        session.send("GET", "/api/v1/query", params={"query": query, "timeout": "30s"})
        session.send("POST", "/api/v1/series", data={"match[]": [matched, "up"]})
        session.send("GET", "/api/v1/label/job/values", params={"match[]": matched})
        session.send("GET", "/federate", params={"match[]": ['{__name__=~"job:.*"}', matched]})
    for path in ("targets", "rules", "alerts", "metadata", "status/config", "status/flags", "status/tsdb"):
        session.send("GET", f"/api/v1/{path}")
    session.page.goto(f"{session.at}/graph?g0.expr={segment(_QUERIES[1])}&g0.tab=1")
    settle(session.page, 6_000)


def syncthing(session: Session) -> None:
    """Folders with ignore patterns, devices and settings by its interface, and the page."""
    program, home = str(session.deb("syncthing") / "usr/bin/syncthing"), session.folder / "syncthing"
    session.run(program, "generate", f"--home={home}")
    options = ["serve", "--no-browser", "--no-upgrade", "--no-restart", f"--home={home}"]
    session.serve(lambda port: [program, *options, f"--gui-address=127.0.0.1:{port}"], ready="/rest/noauth/health")
    key = ET.parse(home / "config.xml").findtext("gui/apikey") or ""  # noqa: S314 - written by the program
    login, content = {"X-API-Key": key}, session.content
    shape = session.send("GET", "/rest/config/defaults/folder", headers=login).json()
    for number in range(30):
        folder = {**shape, "id": f"f{number}", "label": content.title(), "path": str(session.folder / f"f{number}")}
        session.send("PUT", f"/rest/config/folders/f{number}", json=folder, headers=login)
        ignored = {
            "ignore": ["(?d).DS_Store", "*.tmp", "!/keep", f"/{content.file_name()}", "// a comment", "(?i)thumbs.db"]
        }
        session.send("POST", "/rest/db/ignores", params={"folder": f"f{number}"}, json=ignored, headers=login)
        versions = {
            "versioning": {
                "type": "external",
                "params": {"command": "/usr/local/bin/keep.sh %FOLDER_PATH% %FILE_PATH%"},
            }
        }
        session.send("PATCH", f"/rest/config/folders/f{number}", json=versions, headers=login)
        session.send(
            "GET", "/rest/db/browse", params={"folder": f"f{number}", "prefix": content.file_name()}, headers=login
        )
        session.send("GET", "/rest/system/browse", params={"current": "~/Documents/"}, headers=login)
        session.send("GET", "/rest/db/status", params={"folder": f"f{number}"}, headers=login)
    session.page.goto(session.at)
    settle(session.page, 8_000)
