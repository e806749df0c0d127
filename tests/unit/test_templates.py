"""Cached template folders: which are kept; folders of another name are left alone."""

import os

import pytest

from tests.support import templates
from tests.support.templates import KEPT, folder_of


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(templates, "CACHE", tmp_path)

    def build(name, key):
        monkeypatch.setattr(templates, "code_key", lambda: f"{key:032x}")
        made = folder_of(name, lambda folder: (folder / "made").write_text(str(key)))
        os.utime(made, (key, key))
        return made

    return build


def test_a_folder_is_made_once_for_each_code(build):
    assert (build("installation", 1) / "made").read_text() == "1"
    assert build("installation", 1) == build("installation", 1) != build("installation", 2)


def test_the_oldest_folders_are_removed_and_those_of_longer_names_kept(build):
    others = [build("installation-on-postgresql", number) for number in range(3)]
    made = [build("installation", number) for number in range(10, 10 + KEPT + 3)]

    assert [each.exists() for each in made] == [False] * 2 + [True] * (KEPT + 1)
    assert all(each.exists() for each in others)
