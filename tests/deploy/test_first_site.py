"""The systemd section of docs/install.md and its first site: typed on a new host, until a browser is on the site."""

import re
import sys
from typing import NamedTuple

import pytest
from playwright.sync_api import Error, sync_playwright

from tests.browser.installation import find_chromium, sign_in
from tests.deploy.dockerfile import BASE
from tests.deploy.host.host import copy_of_the_repository, host, lines_of
from tests.support.not_run import not_run
from tests.support.processes import PATIENCE, running, wait_until

PAGE = BASE / "docs" / "install.md"
SITE = ("-m", "gunicorn", "--chdir", str(BASE), "--bind", "127.0.0.1:3000", "--no-control-socket")


class Layout(NamedTuple):
    """A row of the page's table: the public URLs, and the guard page of each site."""

    public_url: str
    guards: dict[str, str]

    @property
    def names(self):
        return [*self.guards, *sorted(set(self.guards.values()) - set(self.guards))]


SEVERAL_HOSTS = Layout(
    "https://wall.example.com", dict.fromkeys(("app.example.com", "files.example.com"), "wall.example.com")
)
ONE_HOST = Layout("https://app.example.com", {"app.example.com": "app.example.com"})
TWO_PARENTS = Layout(
    "https://wall.example.com,https://wall.example.org",
    {"app.example.com": "wall.example.com", "app.example.org": "wall.example.org"},
)


@pytest.fixture(scope="module")
def computer():
    """Return a host with a site, on which the commands for systemd were run."""
    with host() as made:
        made.started(sys.executable, *SITE, "deploy.demo.site:application")
        copy = copy_of_the_repository(made.folder / "repository")
        for_tests = {
            "git clone --branch main REPOSITORY": f"cp -a {copy}",
            "python3 -m venv .venv &&": f"mkdir .venv && mount --bind {sys.prefix} .venv #",
        }
        lines = lines_of(PAGE, "systemd")
        for printed, ours in for_tests.items():
            assert any(printed in line for line in lines), printed
            lines = [line.replace(printed, ours) for line in lines]
        (made.folder / "installed.txt").write_text(made.typed(*lines))
        yield made


@pytest.fixture(scope="module")
def password(computer):
    return re.search(r"made the admin 'admin', password (\S+)", (computer.folder / "installed.txt").read_text())[1]


@pytest.fixture
def windows(computer):
    """Return a function that opens a private browser window on the host, where all host names resolve to it."""
    executable = find_chromium()
    if executable is None:
        not_run("the first site in a browser, because there is no chromium (apt-get install chromium)")
    chromium = computer.has_program("chromium", *computer.inside(executable, only_network=True))
    rules = "--host-resolver-rules=MAP *.example.com 127.0.0.1, MAP *.example.org 127.0.0.1, MAP * ~NOTFOUND"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=[rules, "--no-sandbox"], timeout=1000 * PATIENCE
        )

        def window():
            context = browser.new_context(ignore_https_errors=True)
            context.set_default_timeout(1000 * PATIENCE)
            return context.new_page()

        yield window
        browser.close()


def table():
    section = PAGE.read_text().partition("\n## The first site\n")[2]
    return re.findall(r"^\| .*? \| `(https://[^`]*)` \|", section, re.MULTILINE)


def configure_the_proxy(computer, layout):
    """Run the page's commands for the proxy, for further names too."""
    also = "".join(f",DNS:{name}" for name in layout.names)
    computer.typed(*(line.replace("DNS:app.example.com,DNS:wall.example.com", also[1:]) for line in _lines()))
    names = {"app": " ".join(layout.guards), "wall": " ".join(dict.fromkeys(layout.guards.values()))}
    if len(layout.names) > 2:
        changes = [
            f"s/server_name {one}.example.com;/server_name {all_of_them};/" for one, all_of_them in names.items()
        ]
        computer.typed(f"sed -i '{'; '.join(changes)}' /etc/nginx/conf.d/site.conf", "nginx -t && nginx -s reload")


def _lines():
    found = lines_of(PAGE, "The first site")
    assert {line.split()[0] for line in found} == {"openssl", "mkdir", "gatewall", "mv", "sed", "echo", "nginx"}
    return found


def is_served(page, address):
    """Return whether a URL is served; False while nothing listens."""
    try:
        page.goto(address)
    except Error as refused:
        if "ERR_CONNECTION_REFUSED" not in refused.message:
            raise
        return False
    return True


def register_the_sites(page, layout, password):
    """Register the sites in the browser, as the page describes."""
    guard = f"https://{next(iter(layout.guards.values()))}/wall/"
    wait_until(lambda: is_served(page, guard), what="nginx, which reloads beside the command")
    sign_in(page, "admin", password)
    page.get_by_role("link", name="Administration").click()
    page.fill("#password", password)
    page.get_by_role("button", name="Open the administration").click()
    for site in layout.guards:
        page.goto(f"{page.url.partition('/admin/')[0]}/admin/first-site/")
        page.fill("#id_site", site)
        page.fill("#id_upstream", "127.0.0.1:3000")
        page.get_by_role("button", name="Register the site").click()
        assert f"{site} is registered." in page.locator("main").inner_text()


def lands_on_every_site(window, layout, password):
    """Load every site in one window, the last one first; sign in once, at home."""
    page, home = window(), layout.public_url.partition(",")[0]
    for number, site in enumerate(reversed(layout.guards)):
        page.goto(f"https://{site}/welcome?a=b")
        if number == 0:
            assert page.url.startswith(f"{home}/wall/?rd="), page.url
            sign_in(page, "admin", password)
        assert page.url == f"https://{site}/welcome?a=b"
        assert re.search(r"You are\s+admin\b", page.locator("dl").inner_text())


def publish_at(computer, layout):
    """Change the address of the guard page, if it is another, as the systemd section does."""
    line = f"GATEWALL_PUBLIC_URL={layout.public_url}"
    if line in computer.typed("cat /etc/gatewall/environment").splitlines():
        return
    (change,) = [
        each for each in lines_of(PAGE, "systemd") if each.startswith("sed -i") and "GATEWALL_PUBLIC_URL" in each
    ]
    computer.typed(
        change.replace("GATEWALL_PUBLIC_URL=https://wall.example.com", line), "systemctl restart gatewall.target"
    )


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(SEVERAL_HOSTS, id="several hosts under one parent"),
        pytest.param(ONE_HOST, id="one host", marks=pytest.mark.full),
        pytest.param(TWO_PARENTS, id="two parents", marks=pytest.mark.full),
    ],
)
def test_the_commands_of_the_page_make_every_site_reachable(computer, password, windows, layout):
    assert layout.public_url in table()
    publish_at(computer, layout)
    configure_the_proxy(computer, layout)

    register_the_sites(windows(), layout, password)

    lands_on_every_site(windows, layout, password)


@pytest.mark.full
def test_the_doctor_of_the_page_finds_nothing_wrong(computer, password, windows):
    publish_at(computer, SEVERAL_HOSTS)
    configure_the_proxy(computer, SEVERAL_HOSTS)
    register_the_sites(windows(), SEVERAL_HOSTS, password)
    computer.typed("echo 127.0.0.1 app.example.com >> /etc/hosts")
    (doctor,) = re.findall(r"`(gatewall\s+doctor\s+https://.*?)`", PAGE.read_text(), re.DOTALL)

    (add,) = re.findall(r"`(gatewall domain add app\.example\.com)` does the same", PAGE.read_text())
    assert "photos.example.com is registered" in computer.typed(add.replace("app.", "photos."))

    said = computer.typed(f"{' '.join(doctor.split())} --self-signed")

    assert re.search(r"^ok +Sign-in", said, re.MULTILINE)
    assert not re.search(r"^wrong", said, re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize(
    ("unit", "port", "variable"),
    [
        ("gatewall-control-plane", 9999, "GATEWALL_PORT"),
        ("gatewall-data-plane", 9998, "GATEWALL_AUTH_PORT"),
    ],
)
def test_a_port_that_is_taken_is_a_line_of_the_journal_with_the_variable(computer, unit, port, variable):
    computer.typed(f"systemctl stop {unit}")
    other = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with running(computer.inside(*other), log=computer.folder / "other.log"):
        computer.typed(f"until curl -so /dev/null http://127.0.0.1:{port}/; do sleep 0.1; done")
        assert f"Job for {unit}" in computer.typed(f"systemctl start {unit}", fails=True)
        said = computer.typed(f"journalctl -u {unit}")
    computer.typed(f"until curl -sf http://127.0.0.1:{port}/wall/health/live; do sleep 0.1; done")

    assert f"Port {port} on 127.0.0.1 is taken: stop what listens there, or set {variable}." in said.splitlines()
