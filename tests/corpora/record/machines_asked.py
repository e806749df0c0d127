"""Requests of the recorded programs."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.corpora.record import texts

VALUES = {
    "search": [
        "O'Brien",
        "union",
        "select",
        "50% off",
        "a & b",
        "(test)",
        "drop-in table night",
        "*.example",
        "C:\\Temp",
        "..",
        "script",
    ],
    "ordering": ["-id", "created_at"],
    "host": ["office.example", "a.b.office.example:8443", "[2001:db8::1]"],
    "path": ["/", "/a/b.git/info/refs", "/reports/2024 (final).pdf", "/O'Brien", "/x;v=1"],
    "query": ["a=1&b=2", "q=O'Brien", "service=git-upload-pack", "q=100%25"],
    "user_agent": [
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
        "curl/7.88.1",
        "git/2.39.5",
        "python-requests/2.32",
    ],
    "client_ip": ["203.0.113.7", "2001:db8::7", "203.0.113.0/24"],
    "ip": ["203.0.113.7", "2001:db8::/32"],
    "username": ["alice", "bob.o'neil", "admin", "root", "möller"],
    "email": ["alice@office.example", "bob+git@office.example"],
    "name": ["office.example", "*.office.example", "laptop", "Bob's laptop", "CI (deploy)"],
    "reason": ["waf", "request-malformed", "no-session"],
    "country_code": ["DE", "OR", "IN"],
    "pattern": ["wp-login.php", "^/private"],
}
PYTHON = [
    "django",
    "numpy",
    "pytest-xdist",
    "ruamel.yaml",
    "zope.interface",
    "backports.zoneinfo",
    "Flask-SQLAlchemy",
    "select2",
    "sh",
    "exec-wrappers",
    "cat",
    "python-dotenv",
    "scriptharness",
    "sqlparse",
    "union-find",
    "drop",
    "insert-dylib",
    "jinja2",
    "pyyaml",
    "google-cloud-storage",
]
NODE = [
    "react",
    "@types/node",
    "@babel/plugin-transform-runtime",
    "left-pad",
    "script-loader",
    "exec",
    "sh",
    "child-process-promise",
    "is-odd",
    "lodash.get",
    "@angular/core",
    "eval",
    "path",
    "select-shell",
    "drop-cap",
    "passwd-user",
    "union",
    "alert",
    "etc",
    "touch",
    "which",
    "rimraf",
]
SUITES = ("bookworm", "bookworm-updates", "bookworm-security/updates", "trixie", "stable-backports")
_HERE = Path(__file__).parent
DOWNLOADS = (_HERE / "downloads.txt").read_text().splitlines()
READY_MADE = (_HERE / "ready_made.txt").read_text().splitlines()
"""Addresses as other programs write them."""
CALLBACKS = (
    "https://app.example/oauth/callback",
    "http://127.0.0.1:51234/callback",
    "http://localhost:53682/login/oauth2/code/acme",
    "http://[::1]:49160/cb",
    "com.acme.app:/oauth2redirect",
    "urn:ietf:wg:oauth:2.0:oob",
    "https://grafana.internal/login/generic_oauth",
    "http://192.168.1.10:8123/?auth_callback=1",
    "https://nas.local/signin?to=%2Fphotos",
    "https://app.example/cb?x=1&y=a%20b#/home",
    "https://office.example/Q3 report (final).pdf?v=2;c=1",
    "/relative/path?next=/x",
    "https://10.0.0.5/ui/#/dashboard",
)
SCOPES = (
    "openid",
    "openid profile email offline_access",
    "https://www.acme.example/auth/drive.readonly repo:status user:email",
)
GRAPHQL = (
    "{ viewer { login } }",
    "query($first: Int!) { products(first: $first) { edges { node { id title } } pageInfo { hasNextPage } } }",
    'query { user(name: "O\'Brien") { posts(where: {draft: false}, orderBy: CREATED_AT_DESC) { title } } }',
    "query Search($name: String!) {\n  search(query: $name, type: REPOSITORY, first: 5) {\n    nodes { ... on Repository { name } }\n  }\n}",
    "query IntrospectionQuery { __schema { queryType { name } types { ...FullType } } } fragment FullType on __Type { kind name }",
    "mutation($id: ID!) { deleteItem(id: $id) { ok } }",
    "{ __typename }",
    "subscription { commentAdded { id content } }",
    'query { items(filter: {price: {gt: 10, lte: 20}, or: [{a: {eq: "x"}}, {b: {in: ["y", "z"]}}]}) { total } }',
    "query @cached(ttl: 60) { orders(status: [OPEN, PAID]) { id, total } }",
)
_PROMQL = (
    "up",
    "up == 0",
    'rate(http_requests_total{job="api",code=~"5.."}[5m])',
    "sum(rate(http_requests_total[5m])) by (instance) > 0.5",
    'histogram_quantile(0.95, sum(rate(http_request_duration_seconds_bucket{handler!~"/health|/metrics"}[5m])) by (le))',
    "count(up == 1) or vector(0)",
    "node_load1 / on(instance) count by (instance) (node_cpu_seconds_total{mode='idle'})",
    'absent(up{job="node"}) and on() hour() > 8',
    "max_over_time(temp[1d:5m]) - min_over_time(temp[1d:5m])",
    "-foo * 2 ^ 3 % 4",
    'label_replace(up, "host", "$1", "instance", "(.*):.*")',
    "topk(5, sum by (pod) (container_memory_usage_bytes{namespace='prod'}))",
    'avg_over_time(probe_success{target="https://x.example/"}[$__interval])',
    "foo unless bar",
    "increase(errors_total[1h]) > bool 10",
    '{__name__=~"node_.*",instance="10.0.0.5:9100"}',
    'sum(rate(x{path="/etc"}[5m])) / 100',
    "time() - process_start_time_seconds",
)
_LOGQL = (
    '{app="nginx"} |= "error"',
    '{app="nginx"} |~ "(?i)time.?out" != "health"',
    'sum by (level) (count_over_time({job="api"} | json [5m]))',
    '{namespace="prod"} | logfmt | duration > 10s and status >= 500',
    '{host="web-1"} | pattern `<ip> - - <_> "<method> <uri> <_>"`',
)
_LUCENE = (
    'title:"foo bar" AND (status:open OR status:closed)',
    "status:[400 TO 499] AND NOT path:/health*",
    'user.name:"O\'Brien" OR user.id:7',
    "@timestamp:[now-1h TO now]",
    "message:(timeout OR refused) AND level:error",
    "price:>10 AND price:<=20",
    "_exists_:host AND -tag:old",
    "/joh?n(ath[oa]n)/",
    "quikc~ brwn~ foks~",
    '"jakarta apache"~10 && +a -b',
    "response.status_code >= 500 and not url.path : /api/*",
)
_JQL = (
    'project = "ABC" AND status in ("To Do", "In Progress") ORDER BY created DESC',
    "assignee = currentUser() AND resolution = Unresolved",
    'summary ~ "can\'t log in" AND priority > Medium',
    "updated >= -7d OR duedate < endOfWeek()",
    'text ~ "select query slow" ORDER BY rank',
    "labels in (backend, sql) AND labels not in (wontfix)",
    "issuekey in (ABC-1, ABC-2) or parent = ABC-3",
)
_ODATA = (
    "Name eq 'Milk' and Price lt 2.55",
    "contains(Name,'red') or startswith(Name,'O''Brien')",
    "Price gt 5 and (Rating ge 4 or IsNew eq true)",
    "Address/City eq 'Redmond'",
    "Items/any(d:d/Quantity gt 100)",
    "year(BirthDate) eq 1971",
    "not endswith(Email,'.org')",
    "length(CompanyName) eq 19",
    "tolower(Name) eq 'x'",
)
_SCIM = (
    'userName eq "bjensen"',
    'name.familyName co "O\'Malley" and active eq true',
    'emails[type eq "work" and value co "@x.example"]',
)
_RISON = (
    "(filters:!(),refreshInterval:(pause:!t,value:0),time:(from:now-15m,to:now))",
    "(columns:!(message,host.name),index:'4f2e-logs',interval:auto,query:(language:kuery,query:'level : error and not host : \"web-1\"'),sort:!(!('@timestamp',desc)))",
)
_JSON: tuple[object, ...] = (
    {"status": ["running"], "label": ["com.docker.compose.project=site"]},
    {"name": ["select", "O'Brien"], "dangling": ["false"]},
    {"and": [{"field": "price", "op": ">", "value": 10}, {"or": [{"field": "name", "op": "like", "value": "%red%"}]}]},
    [["id", "in", [1, 2, 3]], ["name", "=", "Bob's"]],
    {"bool": {"must": [{"match": {"title": "drop in"}}], "filter": {"range": {"age": {"gte": 5}}}}},
    {"range": "A1:B2", "values": [["=SUM(A1:A3)", "x"]]},
    [{"property": "name", "value": "cat", "operator": "like"}],
    {"since": "2024-01-01"},
    {
        "left": {
            "datasource": "prom",
            "queries": [{"expr": 'sum(rate(up{job="x"}[5m]))', "refId": "A"}],
            "range": {"from": "now-1h", "to": "now"},
        }
    },
)


def _for_each_text() -> Iterator[tuple[str, dict[str, str]]]:
    for text in texts.TYPED[:120:3]:
        yield (
            "/rest/v1/items",
            {
                "select": "id,name,owner(name)",
                "name": f"ilike.*{text}*",
                "order": "id.desc",
                "or": "(age.lt.18,age.gt.21)",
            },
        )
        yield (
            "/jsonapi/articles",
            {
                "filter[title]": text,
                "include": "author,comments.author",
                "fields[articles]": "title,body",
                "page[size]": "10",
            },
        )
        yield "/remote.php/dav/", {"dir": f"/Photos/{text}", "openfile": "true", "view": "files"}
        yield (
            "/api/datatables",
            {"draw": "1", "columns[0][data]": "name", "columns[0][search][value]": text, "order[0][dir]": "asc"},
        )
        yield "/autocomplete", {"callback": "jQuery360_1709251200", "term": text, "_": "1709251200123"}
        yield "/share", {"url": f"https://shop.example/p/1?ref=mail&n={text}", "title": text, "hashtags": "a,b"}
        yield "/translate", {"sl": "auto", "tl": "fr", "op": "translate", "text": f"{text}\n{text}!"}


def queries() -> Iterator[tuple[str, dict[str, str]]]:
    """Give paths and parameters."""
    for number, promql in enumerate(_PROMQL):
        yield "/api/v1/query", {"query": promql, "time": f"1709{number:06}.781"}
        yield (
            "/api/v1/query_range",
            {"query": promql, "start": "1709251200", "end": "1709254800", "step": "15s", "timeout": "30s"},
        )
        yield "/graph", {"g0.expr": promql, "g0.tab": "0", "g0.range_input": "1h"}
        yield "/api/v1/series", {"match[]": promql}
    yield from _searches()
    yield from _for_each_text()


def _searches() -> Iterator[tuple[str, dict[str, str]]]:
    for logql in _LOGQL:
        yield "/loki/api/v1/query_range", {"query": logql, "limit": "1000", "direction": "backward"}
    for lucene in _LUCENE:
        yield (
            "/logs-*/_doc/_search",
            {"q": lucene, "size": "50", "sort": "@timestamp:desc", "filter_path": "hits.hits._source"},
        )
        yield (
            "/solr/core/select",
            {"q": lucene, "fq": "type:(a OR b)", "fl": "id,score,title", "wt": "json", "rows": "10"},
        )
    for rison in _RISON:
        yield "/app/discover", {"_g": rison, "_a": rison}
    for jql in _JQL:
        yield (
            "/rest/api/3/search",
            {"jql": jql, "fields": "summary,status,assignee", "expand": "changelog,names", "maxResults": "50"},
        )
    for odata in _ODATA:
        query = {
            "$filter": odata,
            "$select": "Name,Price,Address",
            "$expand": "Items($select=Id;$top=2)",
            "$orderby": "Name desc",
            "$top": "5",
        }
        yield "/odata/Products", query
    for scim in _SCIM:
        yield "/scim/v2/Users", {"filter": scim, "attributes": "userName,emails", "startIndex": "1"}
    for value in _JSON:
        for path in ("/api/items", "/v1.43/containers/json", "/explore"):
            yield path, {"filters": json.dumps(value), "all": "true"}
        yield (
            "/web/dataset",
            {"domain": json.dumps(value, separators=(",", ":")), "context": '{"lang":"de_DE","tz":"Europe/Berlin"}'},
        )
