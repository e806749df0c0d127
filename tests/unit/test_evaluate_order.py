"""The order of the decision: each step alone, and each against every later one."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.device_passes import DevicePass
from gatewall.engine.evaluate import evaluate, explain
from gatewall.engine.facts import Facts
from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS
from gatewall.engine.values import lazy
from tests.support.cast import BOB, CLIENT, HOUR, NOW
from tests.unit.request_cases import NEVER_TOGETHER, ONE_STANDING, PAIRS, SHOP, SITUATIONS, Scene

each_situation = pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
each_pair = pytest.mark.parametrize(
    ("earlier", "later"), PAIRS, ids=[f"{earlier.name}-before-{later.name}" for earlier, later in PAIRS]
)


def test_steps_are_in_the_documented_order():
    assert [step.name for step in STEPS] == [situation.name for situation in SITUATIONS]


@each_situation
def test_step_gives_a_reason_that_it_declares_with_the_effect_of_that_reason(situation):
    verdict = situation.step.function(Facts(*situation.change(Scene()).parts()))

    assert verdict.reason in situation.step.reasons
    assert verdict.effect is verdict.reason.effect is situation.effect


def test_every_reason_but_that_of_no_decision_is_declared_by_a_step():
    assert {reason for step in STEPS for reason in step.reasons} == set(Reason) - {Reason.CANNOT_DECIDE}


@each_situation
def test_step_looks_up_the_facts_that_it_declares_and_no_others(situation):
    asked = set()

    class Watched(Facts):
        def __getattribute__(self, name):
            if sys._getframe(1).f_globals["__name__"] in {"gatewall.engine.steps", "gatewall.engine.access_steps"}:
                asked.add(name)
            return super().__getattribute__(name)

    passes = (DevicePass(61, BOB.id, SHOP, CLIENT, "Jellyfin", NOW + HOUR),)
    for scene in [Scene(), Scene(credentials=(), device_passes=passes), *(each.change(Scene()) for each in SITUATIONS)]:
        situation.step.function(Watched(*scene.parts()))

    looked_up = {name for name in asked if isinstance(vars(Facts).get(name.removesuffix("_name")), lazy)}
    assert {name.removesuffix("_name") for name in looked_up} == set(situation.step.facts)


@each_situation
def test_step_decides_alone(situation):
    scene = situation.change(Scene())

    decision = evaluate(*scene.parts())

    assert (decision.effect, decision.reason) == (situation.effect, situation.reason)


@pytest.mark.parametrize("situation", SITUATIONS[:-1], ids=lambda situation: situation.name)
def test_step_gives_no_verdict_if_it_does_not_apply(situation):
    assert not Scene().applies(situation.step)


@each_pair
def test_earlier_step_decides(earlier, later):
    scene = later.change(earlier.change(Scene()))

    decision = evaluate(*scene.parts())

    assert (decision.effect, decision.reason) == (earlier.effect, earlier.reason)


def test_both_steps_of_a_pair_apply():
    silent = {
        (earlier.name, later.name)
        for earlier, later in PAIRS
        for scene in [later.change(earlier.change(Scene()))]
        if not (scene.applies(earlier.step) and scene.applies(later.step))
    }

    assert silent == ONE_STANDING


def test_every_pair_is_tried_or_named_as_impossible():
    steps = len(STEPS)

    assert len(PAIRS) + len(NEVER_TOGETHER) == steps * (steps - 1) // 2


@each_situation
def test_explanation_names_the_step_that_decided(situation):
    scene = situation.change(Scene())

    _, results = explain(*scene.parts())

    assert [result.step for result in results if result.decided] == [situation.name]


def test_explanation_of_every_pair_agrees_with_the_decision():
    scenes = [later.change(earlier.change(Scene())) for earlier, later in PAIRS]

    assert [explain(*scene.parts())[0] for scene in scenes] == [evaluate(*scene.parts()) for scene in scenes]


def test_explanation_lists_every_step_in_order():
    _, results = explain(*Scene().parts())

    assert [result.step for result in results] == [situation.name for situation in SITUATIONS]


def test_explanation_shows_the_verdicts_of_later_steps():
    silent = [
        (earlier.name, later.name)
        for earlier, later in PAIRS[len(STEPS) - 1 :]  # after a malformed request no step is evaluated
        if (earlier.name, later.name) not in ONE_STANDING
        for _, results in [explain(*later.change(earlier.change(Scene())).parts())]
        if later.reason not in [result.verdict.reason for result in results if result.verdict and not result.decided]
    ]

    assert silent == []


def test_explanation_of_a_malformed_request_evaluates_no_further_step():
    scene = SITUATIONS[0].change(SITUATIONS[1].change(Scene()))

    _, results = explain(*scene.parts())

    assert [result.verdict is not None for result in results] == [True] + [False] * (len(STEPS) - 1)


@given(st.permutations(SITUATIONS), st.integers(0, len(SITUATIONS)))
def test_explanation_and_decision_agree_in_every_combination(order, count):
    scene = Scene()
    for situation in order[:count]:
        scene = situation.change(scene)

    decision, results = explain(*scene.parts())

    assert decision == evaluate(*scene.parts())
    assert sum(result.decided for result in results) == 1
