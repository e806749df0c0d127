"""Run every example of the API documentation unchanged, with curl against a real control plane."""

import base64
import re
import time
from pathlib import Path

import pytest

from gatewall.install.ports import free_port
from tests.support.examples import Shell, examples
from tests.support.processes import control_plane, prepare
from tests.support.second_factor import STEP, code_of_step

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = ("api.md", "api-tour.md")
IN_THE_DOCS = "127.0.0.1:9999"


class App:
    """An authenticator app: `$CODE` is its current code, a new one for each command that sends a code."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self, command: str, known: dict[str, str]) -> None:
        if "$CODE" not in command:
            return
        self._last = max(self._last + 1, int(time.time()) // STEP)
        known["CODE"] = code_of_step(base64.b32decode(known["SECRET"]), self._last)


@pytest.mark.parametrize("name", FILES)
def test_every_example_prints_the_documented_output(tmp_path, name):
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    prepare(home)
    text = (DOCS / name).read_text().replace(IN_THE_DOCS, f"127.0.0.1:{port}")
    shell = Shell({}, App())
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        for example in examples(text):
            shell.run(example)


@pytest.mark.parametrize("name", FILES)
def test_every_address_in_the_examples_is_replaced_by_the_test(name):
    assert set(re.findall(r"https?://([^/\s\"`]+)", (DOCS / name).read_text())) <= {IN_THE_DOCS}


def test_the_api_reference_links_to_the_tour():
    assert "(api-tour.md)" in (DOCS / "api.md").read_text()[:1000]
