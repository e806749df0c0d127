"""The diagram of the folders in docs/architecture.md agrees with the code."""

from tests.import_graph import APPS, PAGE, drawn, folders, reduced


def test_the_page_shows_the_folders_and_imports_of_today():
    assert PAGE.read_text() == drawn(), "python -m tests.import_graph"


def test_every_folder_is_drawn():
    text = PAGE.read_text()

    assert [folder for folder in folders() if f"`{folder.replace('.', '/')}/` | " not in text] == []
    assert set(APPS) <= set(folders())


def test_an_import_that_follows_from_others_is_left_out():
    assert reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}
