"""docs/tutorial.md: start `gatewall up`, then run each block of the page in order in one shell."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gatewall.install.ports import free_port
from tests.support.patterns import put_compiled
from tests.support.processes import BASE, PATIENCE, configuration, environment, running, wait_until
from tests.support.typed_command import put_command

PAGE = (BASE / "docs" / "tutorial.md").read_text()
USUAL = {"GATEWALL_PORT": "9999", "GATEWALL_AUTH_PORT": "9998", "GATEWALL_DEMO_PORT": "8080"}
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SAID = re.compile(r"# (\d{3}(?: [a-z-]+)?)$", re.MULTILINE)


class Shell:
    """One shell for all blocks of the page."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def typed(self, lines: str) -> str:
        """Run lines; return their output once they have ended without an error."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{lines}\necho '-- end'\n")
        self._process.stdin.flush()
        printed = list(iter(self._process.stdout.readline, "-- end\n"))
        assert "" not in printed, "".join(printed[:40])
        return "".join(printed)


@contextmanager
def a_shell(folder, variables) -> Iterator[Shell]:
    with subprocess.Popen(
        ["bash", "-eu", "-o", "pipefail"],
        cwd=folder,
        env=variables,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        yield Shell(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def ports():
    return {name: str(free_port()) for name in USUAL}


def steps(ports):
    """Return the blocks to run while Gatewall runs, each with its documented output."""
    text = PAGE
    for name, usual in USUAL.items():
        text = text.replace(f":{usual}", f":{ports[name]}")
    found = [(kind, block) for kind, block in _BLOCK.findall(text.partition("\n## 3. ")[2])]
    assert {kind for kind, _ in found} == {"sh", "text"}
    for (kind, block), (after, output) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind == "sh":
            yield block, output.splitlines() if after == "text" else []


def test_each_block_of_the_page_prints_the_documented_output(ports, tmp_path):
    home, folder, log = tmp_path / "clone" / "var", tmp_path / "clone", tmp_path / "up.log"
    (folder / "bin").mkdir(parents=True)
    put_command(folder / "bin")
    ours = environment(home, **ports, GATEWALL_WORKERS="1")
    del ours["GATEWALL_ADMIN_PASSWORD"]
    up = [sys.executable, "manage.py"]
    subprocess.run([*up, "keys"], cwd=BASE, env=ours, capture_output=True, check=True)
    put_compiled(configuration(home))
    with running([*up, "up"], log=log, env=ours) as process, a_shell(folder, ours) as shell:
        wait_until(lambda: process.poll() is None and "\nready\n" in log.read_text(), PATIENCE, "the line with ready")
        for block, output in steps(ports):
            said = _SAID.findall(block)
            printed = shell.typed(block)
            if "policy plan" in block:  # earlier requests may not be in the log yet
                wait_until(lambda block=block, line=output[0]: line in shell.typed(block), what="the recorded requests")
                continue
            assert [line for line in printed.splitlines() if re.fullmatch(r"\d{3}(?: [a-z-]+)?", line)] == said
            assert [line for line in output if line not in printed] == []
    assert not list(folder.glob("*.yaml"))
