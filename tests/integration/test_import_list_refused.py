"""Block lists that are refused as a whole: for a bad line, for their size, or for the arguments."""

import pytest
from django.core.management import CommandError, call_command

from gatewall.policy import revisions
from policies.lists import importing
from tests.support.lists import networks, refusal

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
def test_a_bad_line_refuses_the_whole_list(import_list, line, words):
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
def test_an_invalid_structured_list_is_refused(import_list, kind, text):
    error = refusal(import_list, text, "--format", kind)

    assert (error.returncode, "line 1" in str(error) or "line 2" in str(error)) == (1, True), error
    assert networks() == []


@pytest.mark.parametrize("text", ["", "# nothing\n", "10.0.0.1\n"], ids=["empty", "comments", "dropped"])
def test_a_list_without_an_entry_removes_nothing(import_list, text):
    import_list("1.2.3.4")

    assert "--remove" in str(refusal(import_list, text))
    assert networks() == ["1.2.3.4"]


GOOD = [f"1.2.{number // 200}.{number % 200}" for number in range(198)]


def test_one_bad_line_in_a_hundred_is_skipped_and_named(import_list):
    said = import_list("\n".join([*GOOD[:100], "<br>", *GOOD[100:], "nonsense"]))

    assert len(networks()) == 198
    assert "skipped: line 101: '<br>' is not an IP address or a network\nskipped: line 200: 'nonsense'" in said
    assert "0 dropped, 2 lines skipped" in said


def test_more_bad_lines_refuse_the_list_with_the_first_one_and_their_number(import_list):
    error = refusal(import_list, "\n".join([*GOOD, "a", "b", "c"]))

    assert "line 199: 'a' is not" in str(error)
    assert "3 of the lines, more than one in 100" in str(error)
    assert networks() == []


def test_garbage_is_not_read_to_its_end(import_list, monkeypatch):
    monkeypatch.setattr(importing, "MAX_ENTRIES", 200)

    assert "(3 of the lines" in str(refusal(import_list, "x\n" * 1000 + "\n".join(GOOD)))


@pytest.mark.parametrize("option", [(), ("--dry-run",)], ids=["import", "dry run"])
def test_a_list_that_lost_more_than_half_is_refused_unless_forced(import_list, option):
    import_list("1.1.1.1\n2.2.2.2\n3.3.3.3\n4.4.4.4\n5.5.5.5")
    before = revisions.current()

    error = refusal(import_list, "1.1.1.1\n6.6.6.6", *option)

    assert "2 entries instead of 5" in str(error)
    assert (len(networks()), revisions.current()) == (5, before)
    import_list("1.1.1.1\n6.6.6.6", "--force", *option)
    assert networks() == (["1.1.1.1", "6.6.6.6"] if not option else [f"{n}.{n}.{n}.{n}" for n in range(1, 6)])


def test_a_list_that_lost_half_is_taken(import_list):
    import_list("1.1.1.1\n2.2.2.2\n3.3.3.3\n4.4.4.4")
    import_list("1.1.1.1\n2.2.2.2")

    assert networks() == ["1.1.1.1", "2.2.2.2"]


def test_a_list_of_too_many_entries_is_refused(import_list, monkeypatch):
    monkeypatch.setattr(importing, "MAX_ENTRIES", 2)

    assert "line 4: the list has more than 2" in str(refusal(import_list, "1.1.1.1\n2.2.2.2\n2.2.2.2\n3.3.3.3\n"))
    assert networks() == []


def test_a_list_of_too_many_bytes_is_refused(import_list, monkeypatch):
    monkeypatch.setattr("policies.list_files.parsing.MAX_BYTES", 1024)

    assert "more than" in str(refusal(import_list, "1.2.3.4\n" + "# filler\n" * 200))


@pytest.mark.parametrize("url", ["http://192.0.2.1/list", "ftp://127.0.0.1/list", "https://u:hunter2@a.example/"])
def test_a_url_that_may_not_be_fetched_is_refused(url):
    with pytest.raises(CommandError) as caught:
        call_command("import_list", url, "--name", "drop")

    assert (caught.value.returncode, "hunter2" in str(caught.value)) == (1, False)


@pytest.mark.parametrize("name", ["", "a b", "../a", "a" * 51, "ä", "-"])
def test_an_invalid_name_is_refused(import_list, name):
    assert "a name has" in str(refusal(import_list, "1.2.3.4", name=name))


@pytest.mark.parametrize(
    "arguments",
    [
        ("/nowhere/list",),
        ("http://127.0.0.1:9/list",),
        ("/",),
        (),
        ("list", "--remove"),
        ("list", "--expires-in-days", "0"),
        ("--remove", "--dry-run"),
    ],
    ids=" ".join,
)
def test_an_import_that_cannot_run_is_exit_code_2(arguments):
    with pytest.raises(CommandError) as caught:
        call_command("import_list", *arguments, "--name", "drop")

    assert (caught.value.returncode, len(str(caught.value).splitlines())) == (2, 1)
