"""The lines of docs/proxies that write a proxy's configuration, run as printed except for the folder `/etc`."""

import re
import subprocess

import pytest

from gatewall.proxy_config.rendering import KINDS, Place, render
from tests.support.processes import BASE, environment, make_keys
from tests.support.typed_command import put_command

WRITES = ("mkdir ", "gatewall ", "mv ")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    make_keys(folder)
    return folder


def printed(kind):
    """Return the lines of the first block that write files, and the lines that use these files."""
    text = (BASE / "docs" / "proxies" / f"{kind}.md").read_text()
    lines = re.search(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1].splitlines()
    return [line for line in lines if line.startswith(WRITES)], [line for line in lines if not line.startswith(WRITES)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_of_the_page_write_what_the_following_lines_use(kind, home, tmp_path):
    command = tmp_path / "bin" / "gatewall"
    command.parent.mkdir()
    put_command(command.parent)
    (tmp_path / "etc" / "nginx" / "conf.d").mkdir(parents=True)
    ours = environment(home)
    writes, uses = printed(kind)

    subprocess.run(
        ["sh", "-euc", "\n".join(writes).replace("/etc/", f"{tmp_path}/etc/")],
        cwd=tmp_path,
        env={**ours, "PATH": f"{command.parent}:{ours['PATH']}"},
        check=True,
    )

    written = {path.name: path for path in tmp_path.rglob("*") if path.is_file() and path != command}
    assert {path.read_text() for path in written.values()} == {
        file.text for file in render(kind, Place(upstream="127.0.0.1:3000"))
    }
    assert {path.stat().st_mode & 0o777 for path in written.values()} == {0o644}
    for used in re.findall(r"[\w-]+\.(?:yaml|yml|cfg)\b", "\n".join(uses)):
        assert used in written
