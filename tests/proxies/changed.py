"""nginx with the configuration of deploy/nginx and one mistake in it."""

from contextlib import contextmanager

from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.support.processes import is_listening, running, wait_until

FORWARDING, PROTECT, SITE = "gatewall/gatewall-forwarding.conf", "gatewall/gatewall-protect.conf", "site.conf"
KEPT = (FORWARDING, "X-Forwarded-For $remote_addr;", "X-Forwarded-For $http_x_forwarded_for;")
APPENDED = (FORWARDING, "X-Forwarded-For $remote_addr;", "X-Forwarded-For $proxy_add_x_forwarded_for;")
HOST_KEPT = (FORWARDING, "X-Forwarded-Host $gatewall_host;", "X-Forwarded-Host $http_x_forwarded_host;")
METHOD_KEPT = (FORWARDING, "X-Forwarded-Method $request_method;", "X-Forwarded-Method $http_x_forwarded_method;")
URI_KEPT = (FORWARDING, "X-Forwarded-Uri $request_uri;", "X-Forwarded-Uri $http_x_forwarded_uri;")
URI_DECODED = (FORWARDING, "X-Forwarded-Uri $request_uri;", "X-Forwarded-Uri $uri;")
MUTE = (
    SITE,
    "    location / {\n        include gatewall/gatewall-protect.conf;\n",
    "    location /reports/ {\n        include gatewall/gatewall-protect.conf;\n    }\n    location / {\n",
)
"""Only one location is protected; all others bypass the gate."""
BELIEVING = (
    SITE,
    "include gatewall/gatewall-proxy.conf;",
    """include gatewall/gatewall-proxy.conf;
map $http_x_forwarded_host $doctors_host { default $http_x_forwarded_host; "" $gatewall_host; }
map $http_x_forwarded_proto $doctors_scheme { default $http_x_forwarded_proto; "" $scheme; }
map $http_x_http_method_override $doctors_method { default $http_x_http_method_override; "" $request_method; }
map $http_x_rewrite_url $doctors_uri { default $http_x_rewrite_url; "" $request_uri; }
""",
)


@contextmanager
def changed_nginx(folder, wall, changes=()):
    """Run nginx with deploy/nginx in which these texts are replaced; yield its port."""
    port, binary = free_port(), demo.find_nginx()
    assert binary is not None, "there is no nginx"
    demo.write_configuration(
        folder,
        listen=f"127.0.0.1:{port}",
        auth=f"127.0.0.1:{wall.auth}",
        control=f"127.0.0.1:{wall.control}",
        site=f"127.0.0.1:{wall.site_port}",
    )
    for name, old, new in changes:
        path = folder / name
        text = path.read_text()
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new))
    assert "emerg" not in demo.refusal(binary, folder)  # except warnings about hash sizes
    log = folder / "nginx.log"
    with running(demo.nginx_command(binary, folder), log=log) as process:
        wait_until(lambda: is_listening(port) or process.poll() is not None, what="nginx")
        assert process.poll() is None, log.read_text() + (folder / "error.log").read_text()
        yield port
