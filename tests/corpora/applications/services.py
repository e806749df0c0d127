"""Passwords, automation, dashboards, notebooks, databases and administration."""

import base64
import json

from tests.corpora.applications.content import Content
from tests.corpora.applications.wire import Sent, Shape, as_json, form, get, parts


def _cipher(content: Content) -> Sent:
    def secret() -> str:
        return "2." + "|".join([base64.b64encode(content.data(24)).decode() for _ in range(3)])

    return as_json(
        "POST",
        "/api/ciphers",
        {
            "type": 1,
            "name": secret(),
            "notes": secret(),
            "login": {"username": secret(), "password": secret(), "uris": [{"uri": secret()}]},
        },
    )


def _notebook(content: Content) -> Sent:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": content.markdown()}]
    cells += [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": content.code()[1][:2_000]}
        for _ in range(2)
    ]
    return as_json(
        "PUT",
        "/api/contents/notes.ipynb",
        {"type": "notebook", "format": "json", "content": {"cells": cells, "nbformat": 4, "nbformat_minor": 5}},
    )


_QUERY = {
    "expr": 'sum by (job) (rate(http_requests_total{job=~"api|web",code!~"5.."}[5m])) / on() count(up == 1)',
    "refId": "A",
}
_PANEL = {
    "type": "timeseries",
    "targets": [_QUERY],
    "fieldConfig": {
        "defaults": {"links": [{"url": "/d/x?var-host=${__data.fields.host}", "title": "${__field.name}"}]}
    },
}
_LOGQL = '{app="nginx"} |= "error" | json | line_format "{{.status}} {{.path}}" | status >= 500'
_TEMPLATE = "{{ states('sensor.kitchen') | float(0) > 20 and is_state('light.hall', 'on') }}"
_FLOW = "const items = $input.all();\nfor (const item of items) {\n  item.json.total = item.json.price * 2;\n}\nreturn items;"
_COMPOSE = 'services:\n  web:\n    image: nginx:1.27\n    command: ["sh", "-c", "nginx -g \'daemon off;\'"]\n    volumes:\n      - /etc/localtime:/etc/localtime:ro\n    environment:\n      - DB=postgres://app:secret@db:5432/app\n'


def _query(content: Content) -> Sent:
    return as_json(
        "POST",
        "/api/ds/query?ds_type=prometheus",
        {
            "queries": [{**_QUERY, "datasource": {"uid": content.id()}, "intervalMs": 15000}],
            "from": "1770000000000",
            "to": "1770003600000",
        },
    )


APPLICATIONS: dict[str, tuple[Shape, ...]] = {
    "Vaultwarden": (
        _cipher,
        lambda content: form("/identity/connect/token", grant_type="password", username="alice@cloud.example", password=content.id(), scope="api offline_access", client_id="web", deviceName="firefox"),
        lambda content: as_json("PUT", f"/api/folders/{content.id()}", {"name": "2.x|y|z"}),
    ),
    "Home Assistant": (
        lambda content: as_json("POST", "/api/template", {"template": _TEMPLATE}),
        lambda content: as_json("POST", f"/api/config/automation/config/{content.number()}", {"alias": content.title(), "description": content.sentence(), "trigger": [{"platform": "template", "value_template": _TEMPLATE}], "action": [{"service": "notify.phone", "data": {"message": "It is {{ now().hour }} o'clock: {{ trigger.to_state.state }}"}}], "mode": "single"}),
        lambda content: as_json("POST", "/api/webhook/" + content.id(), {"type": "update_location", "data": {"gps": [48.2, 16.3], "gps_accuracy": 20, "battery": 45}}),
        lambda content: as_json("POST", "/api/services/light/turn_on", {"entity_id": "light.living_room", "brightness_pct": content.number(100)}),
    ),
    "Grafana": (
        _query,
        lambda content: as_json("POST", "/api/dashboards/db", {"dashboard": {"title": content.title(), "panels": [_PANEL] * 6, "templating": {"list": [{"name": "host", "query": "label_values(up, instance)", "regex": "/.*:(\\d+)/"}]}}, "message": content.title()}),
        lambda content: as_json("POST", "/api/ds/query?ds_type=loki", {"queries": [{"expr": _LOGQL, "refId": "A"}]}),
        lambda content: as_json("POST", "/api/annotations", {"text": content.comment(), "tags": ["deploy"], "time": 1_770_000_000_000}),
    ),
    "Prometheus and Alertmanager": (
        lambda content: form("/api/v1/query_range", query="histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m]))) > 0.5 or vector(0)", start="1770000000", end="1770003600", step="15"),
        lambda content: as_json("POST", "/api/v2/silences", {"matchers": [{"name": "instance", "value": "web-.*", "isRegex": True}], "comment": content.sentence(), "createdBy": content.person()}),
        lambda content: as_json("POST", "/api/v2/alerts", [{"labels": {"alertname": "HighLoad", "severity": "warning"}, "annotations": {"summary": content.sentence()}, "generatorURL": "http://prometheus:9090/graph?g0.expr=up+%3D%3D+0"}]),
    ),
    "JupyterLab": (
        _notebook,
        lambda content: as_json("POST", "/api/sessions", {"path": "notes.ipynb", "type": "notebook", "name": "", "kernel": {"name": "python3"}}),
        lambda content: as_json("PUT", "/lab/api/settings/@jupyterlab/apputils-extension:themes", {"raw": '{\n    // Theme\n    "theme": "JupyterLab Dark"\n}'}),
    ),
    "n8n": (
        lambda content: as_json("PATCH", f"/rest/workflows/{content.number()}", {"name": content.title(), "nodes": [{"type": "n8n-nodes-base.code", "parameters": {"jsCode": _FLOW}}, {"type": "n8n-nodes-base.httpRequest", "parameters": {"url": "=https://api.example/{{ $json.id }}", "method": "POST"}}], "connections": {}}),
        lambda content: as_json("POST", "/webhook/" + content.id(), {"event": "created", "title": content.title(), "user": content.person()}),
    ),
    "Node-RED": (
        lambda content: as_json("POST", "/flows", {"rev": content.id(), "flows": [{"id": content.id(), "type": "function", "name": content.title(), "func": "msg.payload = msg.payload.map(x => x * 2);\nif (msg.topic === 'a') {\n  return null;\n}\nreturn msg;"}, {"type": "inject", "repeat": "60", "topic": content.title()}]}),
    ),
    "Portainer": (
        lambda content: as_json("POST", "/api/stacks/create/standalone/string?endpointId=1", {"name": "web", "stackFileContent": _COMPOSE, "env": [{"name": "TZ", "value": "Europe/Vienna"}]}),
        lambda content: as_json("POST", "/api/endpoints/1/docker/containers/create?name=web", {"Image": "nginx:1.27", "Cmd": ["nginx", "-g", "daemon off;"], "HostConfig": {"Binds": ["/srv/data:/data"], "RestartPolicy": {"Name": "always"}}}),
    ),
    "Firefly III": (
        lambda content: as_json("POST", "/api/v1/transactions", {"transactions": [{"type": "withdrawal", "description": content.title(), "amount": "12.50", "source_name": content.person(), "notes": content.sentence()}]}),
        lambda content: form("/rules/store", _token=content.id(), title=content.title(), trigger="description_contains", action="set_category"),
    ),
    "Syncthing": (
        lambda content: as_json("PUT", "/rest/config/folders/docs", {"id": "docs", "label": content.title(), "path": "~/Documents", "ignorePerms": False, "versioning": {"type": "simple", "params": {"keep": "5"}}}),
        lambda content: as_json("POST", "/rest/db/ignores?folder=docs", {"ignore": ["// comment", "*.tmp", "(?d).DS_Store", "!/keep", "/*"]}),
    ),
    "Uptime and status": (
        lambda content: as_json("POST", "/api/push/abc?status=up&msg=OK&ping=", {"heartbeat": {"status": 1, "msg": content.sentence()}}),
        lambda content: as_json("POST", "/api/v1/checks/", {"name": content.title(), "schedule": "*/5 * * * *", "tz": "UTC", "subject": "ERROR|FAIL", "methods": "POST"}),
    ),
    "Next.js application": (
        lambda content: get(f"/_next/static/chunks/app/%5Blocale%5D/page-{content.id()[:8]}.js"),
        lambda content: get(f"/_next/static/chunks/pages/blog/%5B...slug%5D-{content.id()[:8]}.js"),
        lambda content: get("/_next/image", url="/images/photo.jpg", w="640", q="75"),
        lambda content: parts("/contact", {"1_$ACTION_ID_" + content.id().replace("-", ""): "", "1_name": content.person(), "1_text": content.comment(), "0": json.dumps(["$K1"])}),
        lambda content: as_json("POST", "/api/vitals", {"page": "/[locale]/[...slug]", "name": "LCP", "value": content.number(), "href": "https://cloud.example/en/a/b"}),
    ),
    "Error reports (Sentry)": (
        lambda content: Sent("POST", f"/api/7/envelope/?sentry_key={content.id()}", ('{"sent_at":"2026-11-23T09:00:00.000Z","sdk":{"name":"sentry.javascript.vue"}}\n{"type":"event"}\n' + json.dumps({"exception": {"values": [{"type": "TypeError", "value": "Cannot read properties of undefined (reading 'map')", "stacktrace": {"frames": [{"filename": "https://cloud.example/assets/index.js", "function": "HTMLButtonElement.onclick", "lineno": content.number()}]}}]}, "request": {"url": "https://cloud.example/?q=" + content.title()}})).encode(), {"Content-Type": "text/plain;charset=UTF-8"}),
        lambda content: as_json("POST", "/csp", {"csp-report": {"document-uri": "https://cloud.example/", "blocked-uri": "inline", "violated-directive": "script-src-elem", "original-policy": "default-src 'self'; script-src 'self' 'nonce-abc'"}}, kind="application/csp-report"),
    ),
}  # fmt: skip
