"""The mutants of ``python -m tests.mutation``: which code is changed, which is not, and that a change has an effect."""

import gc
from types import FunctionType

import pytest

from gatewall.engine import expiry
from tests.mutation.__main__ import SUITES, modules_of
from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.mutants import code_of, mutants_of
from tests.mutation.runner import put_in

SOURCE = '''"""Words."""

LIMIT = 3


def over(number: int, *, strict=True) -> bool:
    """Words."""
    if number > LIMIT and strict:
        raise ValueError("words")
    for _ in range(2):
        number += 1
        break
    return number in (1, 1)
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_module_has_the_expected_mutants(module):
    changes = [mutant.name.removeprefix(f"{module} ") for mutant in mutants_of(module)]

    assert changes == [
        "(module): 3 -> 4",
        "(module): True -> False",
        "over: number > LIMIT and strict -> number > LIMIT or strict",
        "over: number > LIMIT -> number >= LIMIT",
        "over: raise ValueError('words') -> pass",
        "over: 2 -> 3",
        "over: number += 1 -> number -= 1",
        "over: 1 -> 2",
        "over: break -> continue",
        "over: return number in (1, 1) -> return None",
        "over: number in (1, 1) -> number not in (1, 1)",
        "over: 1 -> 2 #2",
        "over: 1 -> 2 #3",
    ]


def test_a_mutant_has_its_stated_effect(module):
    codes = {mutant.change: code_of(mutant) for mutant in mutants_of(module)}

    def answer(change, number):
        names = {}
        FunctionType(codes[change], names)()
        return names["over"](number)

    assert (answer("3 -> 4", 4), answer("raise ValueError('words') -> pass", 9)) == (False, False)
    with pytest.raises(ValueError, match="words"):
        answer("number > LIMIT -> number >= LIMIT", 3)


def test_a_mutant_replaces_a_function_that_the_garbage_collector_no_longer_lists():
    original = expiry.is_live.__code__
    mutant = next(each for each in mutants_of("gatewall/engine/expiry.py") if each.function)
    gc.freeze()  # as tests/conftest.py does after collection

    try:
        assert put_in(mutant)
        assert expiry.is_live.__code__ != original
    finally:
        expiry.is_live.__code__ = original


def test_every_mutant_that_is_called_equivalent_is_one_that_is_tried():
    tried = {mutant.name for suite in SUITES for path in modules_of(suite) for mutant in mutants_of(path)}

    assert set(EQUIVALENT) - tried == set()
    assert all(EQUIVALENT.values())
