"""The diagram of the folders in docs/architecture.md agrees with the code."""

from tests.import_graph import APPS, PAGE, drawn, folders, reduced


def test_the_page_shows_the_current_folders_and_imports():
    assert PAGE.read_text() == drawn(), "python -m tests.import_graph"


def test_every_folder_is_drawn():
    text = PAGE.read_text()

    assert [folder for folder in folders() if f"`{folder.replace('.', '/')}/` | " not in text] == []
    assert set(APPS) <= set(folders())


def test_transitive_imports_are_omitted():
    assert reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}
