"""docs/troubleshooting.md: produce each symptom with real parts; the page's lines find its cause and end it.

For redirects to the guard page see tests/integration/test_guard_notices.py.
"""

import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import (
    BROWSER,
    PASSWORD,
    agent,
    control_plane,
    data_plane,
    manage,
    nginx,
    prepare,
    request,
    wait_until,
)
from tests.support.servers import Admin
from tests.support.upstream import Upstream

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "troubleshooting.md").read_text()
VISITOR = "203.0.113.9"
BARE = """
    location /own {{
        auth_request /_own;
        proxy_pass http://127.0.0.1:{site};
    }}
    location = /_own {{
        internal;
        proxy_pass http://127.0.0.1:{gate}{path};
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
    }}
"""


class Gate(NamedTuple):
    """Both planes of an installation, an admin and a site."""

    home: Path
    control: int
    auth: int
    admin: Admin
    site: Upstream


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    home, control, auth = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    with ExitStack() as stack:
        site = stack.enter_context(Upstream())
        stack.enter_context(agent(home))
        stack.enter_context(control_plane(home, control, GATEWALL_WORKERS="1"))
        stack.enter_context(data_plane(home, auth, GATEWALL_WORKERS="1"))
        # The sessions of `operator` remain when the password of `admin` is replaced.
        Admin(control).post("/users", username="operator", password=PASSWORD, is_admin=True)
        admin = Admin(control, "operator", PASSWORD)
        admin.post("/authorized-domains", name="app.example.com")
        yield Gate(home, control, auth, admin, site)


def section(heading):
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def line(start, heading=""):
    """Return the arguments of the page's line with this beginning, without its comment."""
    text = section(heading) if heading else PAGE
    (found,) = re.findall(rf"^gatewall ({start}.*?)(?: +#.*)?$", text, re.MULTILINE)
    return [word.strip("'") for word in found.split()]


def ask(gate, **headers):
    answer = request(
        gate.auth, "/wall/auth", {"X-Forwarded-For": VISITOR, "X-Forwarded-Host": "app.example.com", **headers}
    )
    return answer.status, answer.header("X-Gatewall-Reason")


def test_the_line_for_a_401_distinguishes_a_lost_cookie_from_an_ended_session(gate):
    command = re.search(r"```sh\n(curl .*?)```", section("401 behind the proxy"), re.DOTALL)[1]
    command = command.replace("127.0.0.1:9998", f"127.0.0.1:{gate.auth}")
    token = gate.admin.token

    for value, expected in ((token, ["200", "session-valid"]), (f"{token}x", ["401", "credential-invalid"])):
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            env={"TOKEN": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert [run.stdout.split()[1], run.stdout.split()[-1]] == expected
    assert ask(gate) == (401, "credential-missing")


def test_refusal_carries_the_id_that_explain_takes_and_the_command_names_the_entry(gate, tmp_path):
    entry = gate.admin.post("/ip-black-list", ip=VISITOR)["id"]
    wait_until(lambda: ask(gate) == (403, "client-blocked"), what="the block")

    explained = manage(gate.home, *line("explain"))
    with nginx(tmp_path, gate=gate.control, auth=f"127.0.0.1:{gate.auth}", site=gate.site.port) as port:
        refused = request(port, "/?id=1%27%20UNION%20SELECT%20x", {"Host": "app.example.com", **BROWSER})

    assert explained.startswith("403 client-blocked")
    assert re.search(rf"client-blocked +\S+ {entry} +<- decides", explained)
    assert refused.status == 403
    assert refused.header("X-Gatewall-Decision-Id").encode() in refused.body
    gate.admin.delete(f"/ip-black-list/{entry}")


def test_the_line_for_a_403_shows_the_id(gate, tmp_path):
    command = re.search(r"```sh\n(curl .*?)```", section("403, and its decision id"), re.DOTALL)[1]
    entry = gate.admin.post("/ip-black-list", ip="127.0.0.1", force=True)["id"]

    with nginx(tmp_path, gate=gate.control, auth=f"127.0.0.1:{gate.auth}", site=gate.site.port) as port:
        wait_until(lambda: request(port, "/", {"Host": "app.example.com"}).status == 403, what="the block")
        (tmp_path / ".curlrc").write_text(f'connect-to = "::127.0.0.1:{port}"\n')
        environment = {"CURL_HOME": str(tmp_path)}
        typed = ["bash", "-c", command.replace("https://", "http://")]
        shown = subprocess.run(typed, env=environment, capture_output=True, text=True, check=True).stdout

    gate.admin.delete(f"/ip-black-list/{entry}")
    assert re.match(r"HTTP/1.1 403 Forbidden\s+X-Gatewall-Decision-Id: \S+\s*$", shown)


@pytest.mark.parametrize(("path", "said"), [("/gate/auth", "404"), ("/wall/auth", "502")])
def test_unusable_auth_requests_make_nginx_answer_500(gate, tmp_path, path, said):
    """With a wrong prefix, and with a data plane that is down."""
    asked = gate.auth if said == "404" else free_port()
    folder = tmp_path / "own"
    folder.mkdir()
    own = BARE.format(site=gate.site.port, gate=asked, path=path)
    with nginx(folder, gate=gate.control, auth=f"127.0.0.1:{asked}", site=gate.site.port, extra=own) as port:
        bare = request(port, "/own", {"Host": "app.example.com", **BROWSER})

    assert bare.status == 500
    assert f"auth request unexpected status: {said}" in (folder / "error.log").read_text()
    assert re.search(rf"[` ]{said}`", section("500 from nginx"))


def test_untrusted_proxy_makes_every_visitor_one_address(gate):
    other = free_port()
    with data_plane(gate.home, other, GATEWALL_WORKERS="1", GATEWALL_TRUSTED_PROXIES="192.0.2.1"):
        request(other, "/wall/auth", {"X-Forwarded-For": VISITOR, "Host": "lost.example"})
    request(gate.auth, "/wall/auth", {"X-Forwarded-For": VISITOR, "X-Forwarded-Host": "kept.example"})

    def addresses(host):
        return {row["client_ip"] for row in gate.admin.get(f"/access-logs?host={host}")["results"]}

    wait_until(lambda: addresses("lost.example") and addresses("kept.example"), what="the rows")
    assert (addresses("lost.example"), addresses("kept.example")) == ({"127.0.0.1"}, {VISITOR})
    wait_until(lambda: gate.admin.get("/security-events?kind=proxy.untrusted")["results"], what="the event")


def test_a_block_of_the_visitors_own_address_refuses_the_site_but_not_the_console(gate, tmp_path):
    entry = gate.admin.post("/ip-black-list", ip="127.0.0.1", force=True)["id"]
    with nginx(tmp_path, gate=gate.control, auth=f"127.0.0.1:{gate.auth}", site=gate.site.port) as port:
        asked = {"Host": "app.example.com", **BROWSER}
        wait_until(lambda: request(port, "/", asked).status == 403, what="the block")

        assert request(port, "/wall/", asked).status == 200
        assert request(port, "/wall/admin/", asked).status == 302
        gate.admin.delete(f"/ip-black-list/{entry}")
        wait_until(lambda: request(port, "/", asked).status == 302, what="its end")


BAN = f"""
from policies import services
services.block_network(actor="auto-ban", network="{VISITOR}", source="auto-ban")
"""


def test_automatic_ban_ends_with_the_line(gate):
    manage(gate.home, "shell", "-c", BAN)
    wait_until(lambda: ask(gate) == (403, "client-blocked"), what="the ban")

    manage(gate.home, *line("unban", "Locked out by your own rule"))

    wait_until(lambda: ask(gate) == (401, "credential-missing"), what="its end")


def test_lost_password_and_second_factor_are_replaced_on_the_host(gate):
    heading = "Lost password or second factor"

    assert "admin" in manage(gate.home, *line("user list", heading))
    new = manage(gate.home, *line("user password", heading)).split()[-1]
    manage(gate.home, *line("user recover-2fa", heading))

    form = urlencode({"username": "admin", "password": new})
    answer = request(gate.control, "/wall/", method="POST", body=form)
    assert (answer.status, "service.token=" in answer.header("Set-Cookie")) == (303, True)


def test_pip_and_unit_lines_of_the_upgrade_are_those_of_the_installation():
    upgrade, install = (DOCS / "upgrade.md").read_text(), (DOCS / "install.md").read_text()
    lines = re.findall(r"(pip install --only.*|^install -m 0644 .*)$", upgrade, re.MULTILINE)

    assert len(lines) == 2
    for each in lines:
        assert each in install
