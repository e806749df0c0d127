"""docs/first-change.md: make the described change in a copy of this tree with the page's commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.links import BASE, DOCS

LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "screenshots")
WORDS, MORE = "There is no such site here.", " Please check the address."


@pytest.mark.full
def test_the_change_of_the_page_can_be_made_with_its_commands(tmp_path):
    tree = shutil.copytree(BASE, tmp_path / "clone", ignore=LEFT_OUT, symlinks=True)
    page = (DOCS / "first-change.md").read_text()
    _, _, run_tests, generate, _ = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)

    def typed(lines):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        lines = lines.replace("pytest -q", "pytest -q -p no:schemathesis -p no:cacheprovider")
        run = subprocess.run(
            ["sh", "-ec", lines], cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        return run.returncode, run.stdout + run.stderr

    def replace(path, old, new):
        text = (tree / path).read_text()
        assert old in text
        (tree / path).write_text(text.replace(old, new))

    assert f"{WORDS}{MORE}" in page
    replace("gatewall/engine/model.py", WORDS, WORDS + MORE)
    code, printed = typed(run_tests)
    assert (code, "reference/reasons.md" in printed, "test_translations" in printed) == (1, True, True), printed
    assert typed(generate)[0] == 0
    (catalogue,) = re.findall(r"`(\S+django\.po)`", page)
    replace(
        catalogue,
        f'msgid "{WORDS}{MORE}"\nmsgstr ""',
        f'msgid "{WORDS}{MORE}"\nmsgstr "这里没有这个网站。请检查地址。"',
    )
    assert typed("python -m tests.messages")[0] == 0
    assert typed(run_tests)[0] == 0
