"""What services refuse has words on the operator pages; what they are is in the catalogue."""

import ast
from collections.abc import Iterator

import pytest
from django.utils import translation

from gatewall.console.said import in_words, is_known
from gatewall.policy.sentences import Sentences, _Filled
from gatewall.whatif.explain_view import HeadersField
from tests.messages import BASE

SPEAK = (
    *("rules/broad_patterns", "history/confirmation", "rules/drafts", "lists/importing", "lists/preview"),
    *("history/lockout", "history/rollback", "rows", "services", "history/undo", "validators"),
)
MODULES = [
    *(f"policies/{name}.py" for name in SPEAK),
    *(f"gatewall/whatif/backtest/{name}.py" for name in ("drafts", "runs", "saving", "serializers", "trial")),
    *("gatewall/doctor/examination.py", "gatewall/doctor/probing/target.py", "gatewall/whatif/exemptions.py"),
    *("audit/querying/field_filters.py", "audit/log/filters.py", "audit/querying/keyset.py", "gatewall/api/queries.py"),
    *("gatewall/engine/addresses.py", "gatewall/engine/hosts.py", "gatewall/engine/waf/patterns.py"),
    *("gatewall/gate/headers.py", "gatewall/gate/subrequest.py", "policies/list_files/block_lists.py"),
]
"""Whose refusals an operator page may have to show."""
OF_WORDS = "7 from 7 to 7"
"""Its words are the caller's: on an operator page "a whole number", which is known."""


def refusals(source: str) -> Iterator[str]:
    """Yield the sentences of the errors that are raised, with 7 where a value stands."""
    for each in ast.walk(ast.parse(source)):
        if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call):
            for argument in [*each.exc.args, *(word.value for word in each.exc.keywords)]:
                if sentence := _sentence(argument):
                    yield sentence


def _sentence(argument: ast.expr) -> str:
    if isinstance(argument, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in argument.values)
    is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str) and " " in argument.value
    return argument.value if is_text else ""


@pytest.mark.parametrize("module", MODULES)
def test_every_refusal_of_a_service_has_words(module):
    said = set(refusals((BASE / module).read_text()))

    assert {sentence for sentence in said if not is_known(sentence)} <= {OF_WORDS}


def test_the_guard_sees_refusals():
    found = {sentence for module in MODULES for sentence in refusals((BASE / module).read_text())}

    assert len(found) > 60
    assert is_known("a whole number from 7 to 7")
    assert not is_known("the moon is made of 7")


@pytest.mark.parametrize("text", HeadersField.default_error_messages.values())
def test_every_error_of_a_made_up_request_has_words(text):
    assert is_known(text.format(length=1, count=2, bytes=3))


@pytest.mark.parametrize(
    ("sentence", "chinese"),
    [
        ("there is no such revision", "没有此修订版本"),
        ("at most 5 *", "最多 5 个 *"),
        ("'10.0.0.1/8' has host bits set: write the first address of the network", "'10.0.0.1/8' 的主机位不为零"),
        ("line 3: an expiry needs its offset, like 2026-01-31T12:00:00Z", "到期时间须带时区"),
        ("%(rule)s <b>: what a stranger wrote", "%(rule)s <b>: what a stranger wrote"),
    ],
)
def test_a_sentence_is_said_in_the_reader_s_language(sentence, chinese):
    with translation.override("zh-hans"):
        assert chinese in in_words(sentence)
    assert in_words(sentence) == sentence


def test_values_may_look_like_places():
    sentences = Sentences(["%(first)s and %(second)s, 100%&more"])

    assert sentences.said("%(second)s and %s, 100%&more") == "%(second)s and %s, 100%&more"


def test_a_very_long_sentence_is_left_alone():
    for times in (240, 10_000):
        assert in_words("line 1: " * times + "x") == "line 1: " * times + "x"


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("from 1 to 2.", {"first": "1", "second": "2"}),
        ("from 1 to 2 to 3.", {"first": "1", "second": "2 to 3"}),
        ("from  to  to 3.", {"first": " to ", "second": "3"}),
        ("from  to 2.", None),
        ("from 1 to .", None),
        ("from 1.", None),
        ("from 1 to 2", None),
        ("of 1 to 2.", None),
    ],
)
def test_values_are_told_by_what_stands_between_them(sentence, values):
    known = Sentences(["from %(first)s to %(second)s."])

    with translation.override("zh-hans"):
        assert known.knows(sentence) == (values is not None)
        assert known.said(sentence) == sentence
    assert _Filled.of("from %(first)s to %(second)s.").values_of(sentence) == values
