"""The runner of the documentation's examples detects wrong examples."""

import pytest

from tests.support.examples import ExampleError, Shell, examples

ANSWER = (
    'HTTP/1.1 201 Created\r\nETag: "abc"\r\nLocation: /wall/things/7\r\n\r\n'
    '{"id": 7, "name": "a thing", "on": true, "none": null, "parts": [1, 2, 3], "in": {"side": "x"}}'
)


class Canned(Shell):
    """A shell in which every command gives one answer."""

    def _output(self, command):
        return ANSWER


def run(shown, **known):
    shell = Canned(known, lambda _command, _known: None)
    for example in examples(f"text\n```console\n$ curl -i /things\n{shown}\n```\n"):
        shell.run(example)
    return shell.known


def body(shown):
    return f"HTTP/1.1 201 Created\n\n{shown}"


@pytest.mark.parametrize(
    "shown",
    [
        "HTTP/1.1 201 Created",
        "HTTP/1.1 201 Created\nlocation: /wall/things/…",
        body('{"id": 7}'),
        body('{"id": …, "name": "a …", "in": {}}'),
        body('{"parts": [1, …], "none": null,\n "on": true}'),
        body('{"parts": [1, …, 3], "in": {"side": "…"}}'),
    ],
)
def test_an_answer_that_is_shown_shortened_matches(shown):
    run(shown)


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 201 Created\nRetry-After: 5",
        'HTTP/1.1 201 Created\nETag: "xyz"',
        body('{"id": 8}'),
        body('{"id": "7"}'),
        body('{"on": 1}'),
        body('{"gone": …}'),
        body('{"none": …}'),
        body('{"name": "b …"}'),
        body('{"parts": [1, 2]}'),
        body('{"parts": [1, 2, 3, …]}'),
        body('{"parts": {}}'),
        body('{"in": {"side": "y"}}'),
        body('{"in": []}'),
        body('{"id": 7'),
    ],
)
def test_an_answer_that_is_not_the_one_shown_is_an_error(shown):
    with pytest.raises(ExampleError, match="line 3: curl"):
        run(shown)


def test_a_named_value_is_kept_and_used():
    known = run('HTTP/1.1 201 Created\nETag: <TAG>\n\n{"id": <THING>, "parts": [1, 2, $THREE]}', THREE="3")

    assert known == {"TAG": '"abc"', "THING": "7", "THREE": "3"}


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{}\n```\n",
        "```\n$ curl -i /\n```\n",
        "```console\ncurl -i /\n```\n",
        "- item\n\n  ```console\n  $ curl -i /\n  ```\n",
        "~~~console\n$ curl -i /\n~~~\n",
        "```console\n$ curl -i /\n",
    ],
)
def test_a_block_that_cannot_be_run_is_an_error(text):
    with pytest.raises(ExampleError):
        list(examples(text))


@pytest.mark.parametrize("command", ["curl /things", "true", "rm -i /things"])
def test_a_command_that_is_no_curl_with_its_head_is_an_error(command):
    (example,) = examples(f"```console\n$ {command}\nHTTP/1.1 201 Created\n```\n")

    with pytest.raises(ExampleError, match="no curl -i"):
        Canned({}, lambda _command, _known: None).run(example)


def test_a_command_of_several_lines_is_one():
    (example,) = examples("```console\n$ curl -i /things \\\n    -d '{}'\nHTTP/1.1 200 OK\n```\n")

    assert (example.command, example.shown) == ("curl -i /things \\\n    -d '{}'", "HTTP/1.1 200 OK\n")
