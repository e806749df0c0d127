"""Messages of refusals: English for the API, translated where an operator page shows them."""

import ast
import copy
import json
import pickle
from collections.abc import Iterator

import pytest
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils import translation

from gatewall.api.translation import message_of, messages_of, translated, validation_error
from gatewall.engine.addresses import parse_network
from gatewall.engine.messages import MAX_STORED, Message, Refused, stored_message
from gatewall.kernel.refusals import Gone
from gatewall.whatif.explain_view import ExplainInput
from policies.list_files.parsing import BadLine
from tests.messages import BASE

_RAISING = (
    *("rules/broad_patterns", "history/confirmation", "lists/importing", "lists/preview"),
    *("history/lockout", "history/rollback", "history/undo", "history/restore", "rows", "services", "validators"),
    *("list_files/parsing", "serializers"),
)
MODULES = [
    *(f"policies/{name}.py" for name in _RAISING),
    *(f"gatewall/whatif/backtest/{name}.py" for name in ("drafts", "runs", "saving", "serializers")),
    *("gatewall/doctor/examination.py", "gatewall/doctor/probing/target.py", "gatewall/whatif/exemptions.py"),
    *("gatewall/whatif/grant_offers.py", "policies/grants/services.py"),
    *("audit/querying/field_filters.py", "audit/log/filters.py", "audit/querying/keyset.py", "gatewall/api/queries.py"),
    *("gatewall/engine/addresses.py", "gatewall/engine/hosts.py", "gatewall/engine/waf/patterns.py"),
    *("gatewall/gate/headers.py", "gatewall/gate/subrequest.py"),
]
"""Modules whose refusals operator pages can show."""
LINE = Message("line %(line)s: %(why)s", line=3, why=Message("a column is named twice"))


def unmarked(source: str) -> Iterator[str]:
    """Yield the texts of raised errors that are not marked for translation."""
    for each in ast.walk(ast.parse(source)):
        if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call):
            for argument in [*each.exc.args, *(value for part in each.exc.args for value in _values(part))]:
                if isinstance(argument, ast.JoinedStr) or (
                    isinstance(argument, ast.Constant) and " " in argument.value
                ):
                    yield ast.unparse(argument)


def _values(part: ast.expr) -> list[ast.expr]:
    return part.values if isinstance(part, ast.Dict) else []


@pytest.mark.parametrize("module", MODULES)
def test_every_refusal_that_a_page_may_show_is_marked_for_translation(module):
    assert list(unmarked((BASE / module).read_text())) == []


def test_an_unmarked_refusal_is_found():
    source = (
        'def f():\n    raise Gone("it is gone")\n    raise Bad({"a": f"{b} is bad"})\n    raise Gone(_("it is gone"))'
    )

    assert list(unmarked(source)) == ["'it is gone'", "f'{b} is bad'"]


@pytest.mark.parametrize(
    ("message", "english", "chinese"),
    [
        (Message("there is no such revision"), "there is no such revision", "没有此修订版本"),
        (Message("at most %(number)s *", number=5), "at most 5 *", "最多 5 个 *"),
        (LINE, "line 3: a column is named twice", "第 3 行"),
        (Message("what nobody has translated: %(why)s", why="20%"), "what nobody has translated: 20%", "20%"),
        (Message("50% of %s"), "50% of %s", "50% of %s"),
    ],
)
def test_a_message_is_english_and_is_translated_where_it_is_shown(message, english, chinese):
    assert message == english
    assert translated(message) == english
    with translation.override("zh-hans"):
        assert chinese in translated(message)
        assert json.loads(json.dumps(message)) == english


def test_a_message_within_a_message_is_translated_too():
    with translation.override("zh-hans"):
        assert translated(Message("a column is named twice")) in translated(LINE)
        assert "line" not in translated(LINE)


def test_a_text_that_a_visitor_wrote_is_filled_in_as_it_is():
    refused = _refused(parse_network, "%(text)s%d")

    assert str(refused) == "'%(text)s%d' is not an IP address or a network"
    assert messages_of(refused) == messages_of(validation_error(refused)) == [str(refused)]


def test_a_message_survives_copying_and_pickling():
    pickled = pickle.loads(pickle.dumps(LINE))  # noqa: S301 - our own bytes
    for each in (copy.deepcopy(LINE), pickled):
        assert (each, each.template, each.params) == (LINE, LINE.template, LINE.params)
    assert Message(LINE) is LINE
    assert BadLine(3, Message("a column is named twice")).message == LINE


@pytest.mark.parametrize("message", [LINE, Message("there is no such revision"), Message("50% of %s")])
def test_a_stored_message_is_translated_too(message):
    kept = stored_message(json.loads(json.dumps(message.as_json())), str(message))

    assert kept == message
    with translation.override("zh-hans"):
        assert translated(kept) == translated(message)


def test_a_text_without_its_message_is_shown_as_it_is():
    assert stored_message(None, "100% of it") == "100% of it"
    assert stored_message(LINE.as_json(), "what an older release wrote later") == "what an older release wrote later"


def test_a_very_long_message_is_cut_like_its_text():
    message = Message("line %(line)s: %(why)s", line=3, why=Message("%(text)s%(text)s", text="%" * 1000))
    kept = stored_message(message.as_json(), message[:MAX_STORED])

    assert len(json.dumps(message.as_json())) < 2 * MAX_STORED
    assert kept[:MAX_STORED] == message[:MAX_STORED]
    with translation.override("zh-hans"):
        assert "line" not in translated(kept)


def test_an_error_becomes_one_untranslated_message():
    plural = MaxLengthValidator(2)
    with translation.override("zh-hans"):
        errors = [
            validation_error(_refused(parse_network, "10.0.0.1/8")),
            ValidationError({"a": ["there is no such revision", _caught(plural, "abc")]}),
        ]
        one, two = [message_of(error) for error in errors]
        assert (translated(one), translated(two)[:7]) == (errors[0].messages[0], "没有此修订版本")

    assert one == "'10.0.0.1/8' has host bits set: write the first address of the network"
    assert two == "there is no such revision Ensure this value has at most 2 characters (it has 3)."


def test_a_refusal_is_translated_for_each_reader():
    errors = [Gone("there is no such revision"), _refused(parse_network, "10.0.0.1/8")]
    errors.append(validation_error(errors[1]))

    assert [messages_of(error) for error in errors] == [
        ["there is no such revision. Open the page again to see the current values."],
        *[["'10.0.0.1/8' has host bits set: write the first address of the network"]] * 2,
    ]
    with translation.override("zh-hans"):
        assert messages_of(errors[0])[0].startswith("没有此修订版本。")
        assert [messages_of(error) for error in errors[1:]] == [[translated(errors[1].message)]] * 2
        assert "'10.0.0.1/8' 的主机位不为零" in messages_of(errors[2])[0]


@pytest.mark.parametrize("headers", [1, {"a b": ""}, {"host": ""}, {"a": ["b"] * 101}, {"a": "b" * 9000}, {"a": "\0"}])
def test_errors_of_a_hypothetical_request_are_translated(headers):
    sent = {"client_ip": "192.0.2.1", "host": "a.example", "method": "GET", "uri": "/", "headers": headers}
    with translation.override("zh-hans"):
        form = ExplainInput(data=sent)
        assert not form.is_valid()
        (chinese,) = form.errors["headers"]
    form = ExplainInput(data=sent)
    assert not form.is_valid()
    (english,) = form.errors["headers"]

    assert english.isascii()
    assert not chinese.isascii()


def _caught(validator, value) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        validator(value)
    return caught.value


def _refused(function, *arguments) -> Refused:
    with pytest.raises(Refused) as caught:
        function(*arguments)
    return caught.value
