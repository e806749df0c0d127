"""The lines of the pages in docs/how-to, and an installation to run them in."""

import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.core.management import call_command
from django.test import override_settings

from gatewall.install.ports import free_port
from tests.proxies.every.kinds import listening, script
from tests.support.processes import PASSWORD
from tests.support.servers import Admin
from tests.support.upstream import Upstream

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
ALL = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
OF_AN_OPERATOR = [
    *(
        "first-site",
        "https",
        "locked-out",
        "many-hosts",
        "monitoring",
        "plan-a-change",
        "policy-in-git",
        "send-mail",
        "several-gates",
        "under-attack",
    ),
]
"""The pages that protect no application; their lines run in test_operator_pages.py and in tests of their own."""
PAGES = [
    page
    for page in ALL
    if page not in OF_AN_OPERATOR and "\ngatewall proxy-config " in (FOLDER / f"{page}.md").read_text()
]
"""The pages of applications."""
TASKS = [page for page in ALL if page not in [*PAGES, *OF_AN_OPERATOR]]
"""The pages about rules for a part of a protected site."""
OUTLINE = ["What you will have", "Lines to copy", "How to see that it works"]
PUBLIC_URL = "https://wall.example.com"
OPTIONS = """{{
	admin off
	local_certs
	skip_install_trust
	auto_https disable_redirects
	https_port {port}
	default_bind 127.0.0.1
}}
"""


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text()


def blocks(page: str, language: str, heading: str | None = None) -> list[str]:
    """Return the blocks of code of a language, of one section or of all."""
    text = text_of(page).partition(f"## {heading}\n")[2].partition("\n## ")[0] if heading else text_of(page)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def command_of(page: str) -> list[str]:
    """Return the arguments of the page's one `gatewall proxy-config`, whose archive `tar` unpacks."""
    (line,) = re.findall(r"^gatewall (proxy-config .*) --tar \| tar -xC /etc/caddy$", text_of(page), re.MULTILINE)
    return shlex.split(line)


def option(page: str, name: str, default: str = "") -> str:
    words = command_of(page)
    return words[words.index(name) + 1] if name in words else default


def write_configuration(page: str, folder: Path, kind: str = "caddy", **ports: int) -> None:
    """Run the page's command with a folder of the test, for another kind of proxy if given."""
    words = command_of(page)
    assert words[:2] == ["proxy-config", "caddy"]
    with override_settings(GATEWALL_PUBLIC_URL=PUBLIC_URL, **ports):
        call_command("proxy_config", kind, *words[2:], "--into", str(folder), stdout=io.StringIO())


class Installed(NamedTuple):
    """Both planes, a recording site, and a Caddy with the lines of all pages; curl in ``environment`` reaches it."""

    admin: Admin
    site: Upstream
    written: Path
    environment: dict[str, str]


def register(admin: Admin) -> dict[str, str]:
    """Register the sites of all pages and a user; return the values of the variables in the pages."""
    for page in PAGES:
        admin.post("/authorized-domains", name=option(page, "--site"))
    dora = admin.post("/users", username="dora", password=PASSWORD, email="dora@office.example")["id"]
    return {
        "PASSWORD": PASSWORD,
        "LICENSE": admin.post("/licenses", name="how-to")["token"],
        "NAME": "dora",
        "GIT_TOKEN": admin.post(f"/users/{dora}/git-tokens", name="how-to")["token"],
        "APP_PASSWORD": "of-the-application",
        "HOME_ASSISTANT_TOKEN": "of-the-application",
        "PAPERLESS_TOKEN": "of-the-application",
        "COOKIE": f"service.token={admin.post('/login', username='dora', password=PASSWORD)['token']}",
    }


@contextmanager
def caddy(folder: Path, site: int) -> Iterator[int]:
    """Run one Caddy with the blocks of all pages, as in README.md; yield its TLS port."""
    port = free_port()
    blocks_of_sites: dict[str, str] = {}
    for page in PAGES:
        example = (folder / page / "Caddyfile.example").read_text()
        found = {
            host: block for block, host in re.findall(r"^(([\w.]+) {\n.*?^}\n)", example, re.DOTALL | re.MULTILINE)
        }
        assert found.keys() == {option(page, "--site"), "wall.example.com"}
        for block in blocks(page, "caddy"):
            found[option(page, "--site")] = block
        upstream = option(page, "--upstream", "127.0.0.1:8000")
        blocks_of_sites |= {host: block.replace(upstream, f"127.0.0.1:{site}") for host, block in found.items()}
    (folder / "index.html").write_text("a static page")
    text = "".join(blocks_of_sites.values()).replace("/srv/www", str(folder))
    (folder / "Caddyfile").write_text(f"{OPTIONS.format(port=port)}import {PAGES[0]}/gatewall.caddy\n{text}")
    command = [script("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with listening(command, folder, port, XDG_DATA_HOME=str(folder)):
        yield port


def has_certificate(host: str, environment: dict[str, str]) -> bool:
    command = ["curl", "-so", "/dev/null", f"https://{host}/"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def typed(lines: str, installed: Installed) -> list[str]:
    """Type lines into a shell; return the words that they print."""
    command = ["bash", "-euo", "pipefail", "-c", lines]
    run = subprocess.run(command, env=installed.environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()
