"""Fixtures of the commands."""

from importlib import import_module

import pytest


@pytest.fixture
def import_list(tmp_path, capsys):
    """Return a function that imports a text and returns what the command said."""

    def run(text, *arguments, name="drop"):
        path = tmp_path / "list"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        import_module("django.core.management").call_command("import_list", str(path), "--name", name, *arguments)
        return capsys.readouterr().out

    return run
