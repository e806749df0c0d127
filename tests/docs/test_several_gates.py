"""docs/how-to/several-gates.md: its lines in the samples of each proxy, with two gates of which one fails."""

import re
from contextlib import ExitStack

import pytest

from gatewall.install.ports import free_port
from tests.docs.how_to import blocks
from tests.proxies.every import kinds
from tests.proxies.every.kinds import KINDS, Behind
from tests.support.processes import request, wait_until
from tests.support.upstream import Upstream

PAGE = "several-gates"
READY = "GET /wall/health/ready "
IN_A_ROW = 8
ASK_AGAIN = {"nginx", "HAProxy"}
"""Proxies that ask the other gate when one answers 503."""


def in_place(pattern: str, text: str, sample: str) -> str:
    """Return the sample with one part replaced, which must occur once."""
    changed, number = re.subn(pattern, lambda _: text, sample, flags=re.DOTALL | re.MULTILINE)
    assert number == 1, pattern
    return changed


def nginx(sample: str) -> str:
    (block,) = blocks(PAGE, "nginx")
    both = re.split(r"\n\n", block.strip())
    for name, lines in zip(("auth", "control"), both, strict=True):
        sample = in_place(rf"^upstream gatewall_{name} {{.*?^}}", lines, sample)
    return sample


def haproxy(sample: str) -> str:
    (block,) = blocks(PAGE, "haproxy")
    sample = in_place(r"gatewall\.lua 127\.0\.0\.1:9998 /wall", "gatewall.lua 127.0.0.1:9997 /wall", sample)
    return in_place(r"^backend gatewall\n.*?^$", block, sample)


def traefik(sample: str) -> str:
    (block,) = [block for block in blocks(PAGE, "yaml") if "services:" in block]
    return in_place(r"^  services:\n.*?(?=^  serversTransports:)", block, sample)


def caddy(sample: str) -> str:
    lines, snippet = blocks(PAGE, "caddy")
    own, question = re.split(r"\n\n", lines.rstrip("\n"))
    sample = in_place(r"^\treverse_proxy @gatewall_own 127\.0\.0\.1:9999 {$", own, sample)
    return snippet + in_place(r"^\treverse_proxy 127\.0\.0\.1:9998 {$", question, sample)


def envoy(sample: str) -> str:
    (block,) = [block for block in blocks(PAGE, "yaml") if "health_checks:" in block]
    for name, port in (("gatewall_auth", "9998"), ("gatewall_control", "9999")):
        lines = block.replace("gatewall_auth", name).replace("9998", port).rstrip("\n")
        part = rf"^      load_assignment:\n        cluster_name: {name}\n        endpoints: [^\n]*"
        sample = in_place(part, lines, sample)
    return sample


CHANGES = {
    "nginx": ("site.conf.example", nginx),
    "HAProxy": ("haproxy.cfg.example", haproxy),
    "Traefik": ("gatewall.yml", traefik),
    "Caddy": ("gatewall.caddy", caddy),
    "Envoy": ("envoy.yaml", envoy),
}


class Gate(Upstream):
    """A gate that allows every request; it stands for both planes of a host."""

    def questions(self) -> int:
        """Return the number of requests, without health checks."""
        return sum(not line.startswith(READY) for line, _ in self.requests)


def added_by(ask, gate: Gate) -> int:
    """Send some requests; return how many of them reached this gate."""
    before = gate.questions()
    for _ in range(IN_A_ROW):
        ask()
    return gate.questions() - before


@pytest.fixture
def gates():
    """Return two gates and a site."""
    with ExitStack() as stack:
        yield [stack.enter_context(Gate()) for _ in range(2)], stack.enter_context(Upstream())


def with_lines_of_the_page(name, gates, monkeypatch):
    """Insert the lines of the page into samples, with the addresses of these gates in place of its hosts."""
    of_the_page, change = CHANGES[name]
    fill, listener = kinds.fill, str(free_port())

    def filled(source, target, changes):
        if source.name != of_the_page:
            return fill(source, target, changes)
        text = change(source.read_text(encoding="utf-8"))
        for host, gate in zip(("10.0.0.5", "10.0.0.6"), gates, strict=True):
            text = re.sub(rf"{re.escape(host)}:999[89]", f"127.0.0.1:{gate.port}", text)
            text = re.sub(
                rf"address: {re.escape(host)}, port_value: 999[89]",
                f"address: 127.0.0.1, port_value: {gate.port}",
                text,
            )
        changed = target.parent / f"with-lines-{source.name}"
        changed.parent.mkdir(exist_ok=True)
        if name == "HAProxy":
            text = text.replace("127.0.0.1:9997", f"127.0.0.1:{listener}")
        changed.write_text(text, encoding="utf-8")
        fill(changed, target, {old: new for old, new in changes.items() if old in text})
        changed.unlink()
        return None

    monkeypatch.setattr(kinds, "fill", filled)


@pytest.mark.parametrize("name", CHANGES)
def test_a_proxy_asks_both_gates_and_avoids_the_failing_one(name, gates, tmp_path, monkeypatch):
    (one, two), site = gates
    with_lines_of_the_page(name, (one, two), monkeypatch)
    start = kinds.start_nginx_sample if name == "nginx" else KINDS[name].start

    with start(tmp_path, Behind(1, 1, site.port)) as port:
        ask = lambda: request(port, "/", {"Host": "app.example.com"}).status  # noqa: E731
        own = lambda: request(port, "/wall/", {"Host": "app.example.com"}).status  # noqa: E731

        wait_until(lambda: ask() == 200 and one.questions() and two.questions(), what="questions to both gates")
        one.status = 503  # neither ready nor able to decide
        answers = [ask() for _ in range(IN_A_ROW)]
        wait_until(lambda: {ask() for _ in range(IN_A_ROW)} == {200}, what="the other gate's answers")
        assert name not in ASK_AGAIN or {*answers} == {200}
        wait_until(lambda: {own() for _ in range(IN_A_ROW)} == {200}, what="the other gate's pages")
        if name != "nginx":  # nginx tries the gate again after five seconds
            wait_until(lambda: added_by(ask, one) == 0, what="no question to a gate that is not ready")

        one.status, two.status = 200, 503
        wait_until(lambda: {ask(), ask(), own(), own()} == {200} and added_by(ask, one) > 0, what="the first gate")
        two.server.shutdown()
        two.server.server_close()
        wait_until(lambda: {ask() for _ in range(IN_A_ROW)} == {own()} == {200}, what="answers of the one that is left")
