"""The sample for ingress-nginx, whose controller needs a cluster: its annotations and snippets in a plain nginx that
asks as the controller's does.
"""

from urllib.parse import urlsplit

import pytest
import yaml

from gatewall.gate import routes
from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.proxies.every.asking import Front, leaked, lines_of, raw
from tests.proxies.every.kinds import DEPLOY, UNTRUSTED
from tests.support.processes import is_listening, request, running, wait_until

SAMPLES = DEPLOY / "ingress-nginx"
PREFIX = "nginx.ingress.kubernetes.io/"
SERVER = """
{http_snippet}
server {{
    listen 127.0.0.1:{port};
{server_snippet}
    location = /_external_auth {{
        internal;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header X-Forwarded-Proto "";
        proxy_set_header Host gate.internal;
        proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
        proxy_set_header X-Original-Method $request_method;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_buffer_size {buffer};
        proxy_buffers 4 {buffer};
        proxy_pass http://127.0.0.1:{auth}{path};
    }}
    location / {{
        auth_request /_external_auth;
        proxy_headers_hash_max_size {hash_size};
        proxy_headers_hash_bucket_size {bucket_size};
        proxy_set_header X-Request-ID $request_id;
        proxy_set_header X-Real-IP $remote_addr;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-Port $server_port;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Scheme $scheme;
        proxy_set_header X-Scheme $scheme;
        proxy_set_header X-Original-Forwarded-For $http_x_forwarded_for;
{headers}
        proxy_set_header Host $http_host;
        proxy_pass http://127.0.0.1:{site};
    }}
    location /wall/ {{
        proxy_set_header Host $http_host;
        proxy_pass http://127.0.0.1:{control};
    }}
    location /wall/auth/ {{
        deny all;
    }}
}}
"""


def documents(name):
    return list(yaml.safe_load_all((SAMPLES / name).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def annotations():
    site, *_ = documents("site.yaml")
    return {name.removeprefix(PREFIX): value for name, value in site["metadata"]["annotations"].items()}


@pytest.fixture(scope="module")
def front(wall, annotations, tmp_path_factory):
    """Run an nginx with the configuration that the controller makes of the sample."""
    folder, port = tmp_path_factory.mktemp("ingress-nginx"), free_port()
    controller, removed = (document["data"] for document in documents("controller.yaml"))
    lines = [f'proxy_set_header {name} "{value}";' for name, value in removed.items()]
    for number, name in enumerate(annotations["auth-response-headers"].split(",")):
        variable = f"$upstream_http_{name.lower().replace('-', '_')}"
        lines += [f"auth_request_set $header{number} {variable};", f"proxy_set_header {name} $header{number};"]
    demo.write_configuration(
        folder, listen="127.0.0.1:1", auth="127.0.0.1:2", control="127.0.0.1:2", site="127.0.0.1:3"
    )
    text = SERVER.format(
        port=port,
        auth=wall.behind.auth,
        site=wall.behind.site,
        control=wall.behind.control,
        hash_size=controller["proxy-headers-hash-max-size"],
        bucket_size=controller["proxy-headers-hash-bucket-size"],
        buffer=annotations.get("proxy-buffer-size", "4k"),  # set by the controller
        path=urlsplit(annotations["auth-url"]).path,
        headers="\n".join(lines),
        http_snippet=controller["http-snippet"],
        server_snippet=controller["server-snippet"],
    )
    (folder / "site.conf").write_text(text, encoding="utf-8")
    assert demo.refusal(demo.find_nginx(), folder) == ""
    with running(demo.nginx_command(demo.find_nginx(), folder), log=folder / "nginx.log"):
        wait_until(lambda: is_listening(port), what="nginx")
        yield Front("ingress-nginx", port, wall.site)


def test_auth_url_is_a_route_of_the_data_plane(annotations):
    url = urlsplit(annotations["auth-url"])

    assert (url.scheme, url.port) == ("http", 9998)
    assert routes.find("/wall", url.path).dialect is routes.find("/wall", "/wall/auth/original-url").dialect
    assert not {"auth-cache-key", "auth-cache-duration"} & set(annotations)


def test_internal_paths_are_denied_to_all_addresses():
    hidden = documents("site.yaml")[-1]

    assert hidden["metadata"]["annotations"] == {f"{PREFIX}denylist-source-range": "0.0.0.0/0,::/0"}
    paths = {path["path"] for path in hidden["spec"]["rules"][0]["http"]["paths"]}
    assert paths == {"/wall/auth", "/wall/metrics", "/wall/admin-recover-2fa"}


def test_session_lets_in_and_neither_its_cookie_nor_forged_headers_arrive(front, cookie):
    forged = {"Remote-User": "root", "Remote_User": "root", "X-Forwarded-Uri": "/root", "Service-License": "root"}

    answer = request(front.port, "/a//b%2f?c", {**forged, "Cookie": f"a=1; {cookie}", "Authorization": "Bearer mine"})

    arrived = front.site.last
    assert (answer.status, arrived["Remote-User"], arrived["Cookie"]) == (200, "admin", "a=1")
    assert (arrived["Authorization"], front.served().uri) == ("Bearer mine", "/a//b%2f?c")
    assert not any("root" in value for value in arrived.values())


def test_untrusted_header_of_a_visitor_does_not_arrive_unless_the_controller_copies_it(front):
    assert leaked(front, [name for name in UNTRUSTED if name != "X-Forwarded-For"]) == []
    assert leaked(front, [name.replace("-", "_") for name in UNTRUSTED if "-" in name]) == []
    assert leaked(front, ["X-Forwarded-For"]) == [front.site.last["X-Original-Forwarded-For"]]


def test_identity_that_the_visitor_names_in_connection_arrives(front, cookie):
    answer = request(front.port, "/", {"Cookie": cookie, "Connection": "close, Remote-User, X-Gatewall-Subject-Kind"})

    arrived = front.site.last
    assert (answer.status, arrived["Remote-User"], arrived["X-Gatewall-Subject-Kind"]) == (200, "admin", "user")


def test_visitor_without_a_session_gets_401_and_an_unknown_host_403(front):
    assert request(front.port, "/").status == 401
    assert request(front.port, "/", {"Host": "unknown.example"}).status == 403


def test_attack_in_the_address_is_refused(front, cookie):
    path = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"

    assert request(front.port, path, {"Cookie": cookie}).status == 403


def test_name_in_the_request_line_must_be_the_one_in_the_header(front):
    target = f"GET http://127.0.0.1:{front.port}/ HTTP/1.1".encode()

    assert raw(front.port, target, [b"Host: public.example"]).status == 421
    assert raw(front.port, target, lines_of(front.port, {})).status == 401


@pytest.mark.parametrize(
    "path", ["/wall/auth/envoy/../../x", "/wall/auth/envoy/..%2f..%2fx", "/%77all/a//b", "/wall/;", "/wall/a\\\\b"]
)
def test_path_of_ours_has_no_other_spelling(front, path):
    answer = request(front.port, path, {"Host": "public.example"})

    assert (answer.status, answer.header("X-Gatewall-Reason")) == (404, "")


def test_query_of_a_path_of_ours_may_hold_anything(front):
    assert request(front.port, "/wall/?rd=http%3A%2F%2F127.0.0.1%2Fa%2F..%2Fb//;").status == 200


def test_visitor_with_much_in_their_cookies_gets_in(front, cookie):
    answer = request(front.port, "/", {"Cookie": f"{cookie}; a=" + "b" * 6_000})

    assert (answer.status, len(front.site.last["Cookie"])) == (200, 6_002)


def test_upgrade_to_h2c_is_refused(front, cookie):
    h2c = {"Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk", "Connection": "Upgrade, HTTP2-Settings", "Cookie": cookie}

    assert request(front.port, "/", h2c).status == 400
