"""Block lists that are refused, whole: by a line, by their size, by how they were asked for."""

import pytest
from django.core.management import CommandError, call_command

from gatewall import revisions
from policies import importing
from tests.lists import networks, refusal

pytestmark = pytest.mark.django_db


REFUSED = {
    "host bits": ("1.2.3.4/24", "line 2: '1.2.3.4/24' has host bits set"),
    "no address": ("example.com", "line 2: 'example.com' is not an IP address"),
    "two addresses": ("1.2.3.4 5.6.7.8", "line 2: "),
    "a range": ("1.2.3.4-1.2.3.9", "line 2: "),
    "octal": ("010.1.1.1", "line 2: "),
    "a web page": ("<html>", "line 2: "),
    "a long line": ("1" * 20_000, "line 2: longer than"),
    "Tor without an address": ("ExitAddress  ", "line 2: "),
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED)
def test_a_line_that_is_no_entry_refuses_the_whole_list(import_list, line, words):
    import_list("9.9.9.9")
    before = revisions.current()

    error = refusal(import_list, f"1.2.3.4\n{line}\n5.6.7.8\n")

    assert (error.returncode, words in str(error)) == (1, True), error
    assert (networks(), revisions.current()) == (["9.9.9.9"], before)


STRUCTURED = {
    "no names": ("csv", "1.2.3.4,a\n"),
    "a column twice": ("csv", "ip,ip\n1.2.3.4,1.2.3.4\n"),
    "too many values": ("csv", "ip\n1.2.3.4,a\n"),
    "an open quote": ("csv", 'ip\n"1.2.3.4\n'),
    "no address": ("csv", "ip,comment\n,a\n"),
    "an expiry without offset": ("csv", "ip,expires\n1.2.3.4,2031-05-06T07:08:09\n"),
    "no moment": ("csv", "ip,expires\n1.2.3.4,tomorrow\n"),
    "a moment beyond all": ("csv", "ip,expires\n1.2.3.4,99999999999999999999\n"),
    "not JSON": ("ndjson", "1.2.3.4\n"),
    "no object": ("ndjson", '["1.2.3.4"]\n'),
    "deep": ("ndjson", "[" * 15_000 + "\n"),
    "a number": ("ndjson", '{"ip": 16909060}\n'),
    "an expiry that is true": ("ndjson", '{"ip": "1.2.3.4", "expires": true}\n'),
    "a comment that is none": ("ndjson", '{"ip": "1.2.3.4", "comment": {"a": 1}}\n'),
}


@pytest.mark.parametrize(("kind", "text"), STRUCTURED.values(), ids=STRUCTURED)
def test_a_structured_list_that_is_none_is_refused(import_list, kind, text):
    error = refusal(import_list, text, "--format", kind)

    assert (error.returncode, "line 1" in str(error) or "line 2" in str(error)) == (1, True), error
    assert networks() == []


@pytest.mark.parametrize("text", ["", "# nothing\n", "10.0.0.1\n"], ids=["empty", "comments", "dropped"])
def test_a_list_without_an_entry_takes_nothing_away(import_list, text):
    import_list("1.2.3.4")

    assert "--remove" in str(refusal(import_list, text))
    assert networks() == ["1.2.3.4"]


def test_a_list_of_too_many_entries_is_refused(import_list, monkeypatch):
    monkeypatch.setattr(importing, "MAX_ENTRIES", 2)

    assert "line 4: the list has more than 2" in str(refusal(import_list, "1.1.1.1\n2.2.2.2\n2.2.2.2\n3.3.3.3\n"))
    assert networks() == []


def test_a_list_of_too_many_bytes_is_refused(import_list, monkeypatch):
    monkeypatch.setattr("policies.block_lists.MAX_BYTES", 1024)

    assert "more than" in str(refusal(import_list, "1.2.3.4\n" + "# filler\n" * 200))


@pytest.mark.parametrize("name", ["", "a b", "../a", "a" * 51, "ä", "-"])
def test_a_name_that_is_none_is_refused(import_list, name):
    assert "a name has" in str(refusal(import_list, "1.2.3.4", name=name))


@pytest.mark.parametrize(
    "arguments",
    [
        ("/nowhere/list",),
        ("/",),
        (),
        ("list", "--remove"),
        ("list", "--expires-in-days", "0"),
        ("--remove", "--dry-run"),
    ],
    ids=" ".join,
)
def test_what_cannot_run_is_exit_code_2(arguments):
    with pytest.raises(CommandError) as caught:
        call_command("import_list", *arguments, "--name", "drop")

    assert (caught.value.returncode, len(str(caught.value).splitlines())) == (2, 1)
