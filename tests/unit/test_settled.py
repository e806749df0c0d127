"""Settled decisions: the same answers, records and counts as new ones after changes of time, policy or country."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine import settled
from gatewall.engine.steps import STEPS, Step
from tests.support.cast import NOW
from tests.unit.settled import POLICIES, SOON, VARIED, VISITORS, Plane, World, policy_in, two_planes

CHANGES = {
    "at": [NOW, NOW, SOON - 1, SOON, SOON + 3600, NOW + 2 * 86_400],
    "country": ["DE", "DE", "NZ", None],
    "over": [0, 0, 7],
    "is_disk_full": [False, False, True],
    "confirmed_at": [100.0, 100.0, 0.0, None],
}
worlds = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHANGES.items()})
steps = st.tuples(st.sampled_from(sorted(POLICIES)), worlds, st.sampled_from([[], *VARIED]))


MEASURED = {"a device pass", "WAF"}
"""Policies that reach all branches: coverage of the others is not measured, which would take twice as long."""
EACH_POLICY = [pytest.param(name, marks=[] if name in MEASURED else pytest.mark.no_cover) for name in sorted(POLICIES)]


@given(
    visitor=st.sampled_from(VISITORS),
    path=st.sampled_from([b"/wall/auth", b"/wall/auth/forward"]),
    before=st.sampled_from(sorted(POLICIES)),
    taken=st.lists(steps, max_size=12),
)
def test_a_settled_decision_equals_a_new_decision(visitor, path, before, taken):
    world = World()
    planes = two_planes(world)
    for name, change, varied in [*[(before, {}, VARIED[0])] * 4, *taken]:
        vars(world).update(change)
        for each in planes:
            each.policies.policy = policy_in(name)
        for _ in range(2):
            with_memo, without = (each.ask(path, [*visitor, *varied]) for each in planes)
            assert with_memo == without


@pytest.mark.parametrize("name", EACH_POLICY)
def test_each_change_after_a_settled_decision_is_seen(name):
    for visitor in VISITORS:
        world = World()
        planes = two_planes(world)

        def ask(policy, planes=planes, visitor=visitor):
            for each in planes:
                each.policies.policy = policy_in(policy)
            with_memo, without = (each.ask(b"/wall/auth", [*visitor, *VARIED[0]]) for each in planes)
            assert with_memo == without

        for before, after in (("in force", name), (name, "in force"), ("in force", name)):
            for policy in [*[before] * 4, after]:
                ask(policy)
        for part, values in CHANGES.items():
            for value in values:
                setattr(world, part, value)
                ask(name)
            setattr(world, part, getattr(World, part))


@pytest.mark.parametrize("name", EACH_POLICY)
def test_each_target_and_header_after_a_settled_decision_is_judged(name):
    planes = two_planes(World())
    for each in planes:
        each.policies.policy = policy_in(name)

    for varied in [*[VARIED[0]] * 4, *VARIED]:
        lines = [*VISITORS[0], *varied]
        for _ in range(4):
            with_memo, without = (each.ask(b"/wall/auth", lines) for each in planes)
            assert with_memo == without


@pytest.mark.parametrize(
    "name",
    [
        "in force",
        "WAF",
        "WAF off",
        "a rate",
        "strict records",
        "strict age",
        "an administrator",
        "a closed path",
        "a custom rule",
        "a path closed at times",
    ],
)
@pytest.mark.parametrize("path", [b"/wall/auth", b"/wall/auth/forward"])
def test_parts_of_a_page_reuse_a_settled_decision(name, path):
    world = World()
    plane = Plane(world, has_memo=True)
    plane.policies.policy = policy_in(name)

    for number in range(10):
        status, *_ = plane.ask(path, [*VISITORS[0], b"X-Forwarded-Uri: /part/%d" % number])
        assert status == 200

    assert plane.given_again == 7


def test_parts_of_a_page_under_several_access_rules_reuse_a_decision():
    plane = Plane(World(), has_memo=True)
    plane.policies.policy = policy_in("an open path")

    for number in range(12):
        uri = b"/closed/x" if number % 2 else b"/open/%d" % number
        plane.ask(b"/wall/auth", [*VISITORS[0], b"X-Forwarded-Uri: " + uri])

    assert plane.given_again == 8


NEVER = ["granted", "granted below", "allowed", "allowed for a while", "a rate of a rule", "signed identity"]


@pytest.mark.parametrize("name", NEVER)
def test_decisions_that_depend_on_time_or_path_are_not_settled(name):
    plane = Plane(World(), has_memo=True)
    plane.policies.policy = policy_in(name)

    statuses = [
        plane.ask(b"/wall/auth", [*VISITORS[0], *VARIED[2 if name == "granted below" else 0]])[0] for _ in range(6)
    ]

    assert (len(set(statuses)), plane.given_again) == (1, 0)


def test_no_decision_is_settled_if_another_step_may_decide_otherwise(monkeypatch):
    assert all(step.repeats for step in STEPS), "settled.py must look at what this step depends on"
    assert not Step(lambda _: None, "A new step", (), ()).repeats
    monkeypatch.setattr(settled, "_STEPS_REPEAT", False)
    plane = Plane(World(), has_memo=True)
    plane.policies.policy = policy_in("in force")

    for _ in range(6):
        plane.ask(b"/wall/auth", [*VISITORS[0], *VARIED[0]])

    assert plane.given_again == 0


def test_while_a_shadow_policy_is_evaluated_decisions_are_made_again():
    plane = Plane(World(), has_memo=True)
    plane.policies.policy = policy_in("in force")
    plane.gate.shadow = SimpleNamespace(policy=None)
    given = []
    for policy in [None] * 5 + [object()] + [None]:
        plane.gate.shadow = SimpleNamespace(policy=policy, watch=lambda _: None)
        plane.ask(b"/wall/auth", [*VISITORS[0], *VARIED[0]])
        given.append(plane.given_again)

    assert given == [0, 0, 0, 1, 2, 2, 3]


def test_an_error_in_a_settled_decision_is_logged_and_the_request_decided_again(monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("broken on purpose")

    plane, lines = Plane(World(), has_memo=True), [*VISITORS[0], *VARIED[0]]
    plane.policies.policy = policy_in("in force")
    expected = [plane.ask(b"/wall/auth", lines)[:3] for _ in range(4)][-1]
    assert plane.given_again
    monkeypatch.setattr(plane.gate, "_again", broken)

    assert plane.ask(b"/wall/auth", lines)[:3] == expected
    plane.policies.policy = policy_in("signed out")
    assert plane.ask(b"/wall/auth", lines)[0] == 401
    assert "a settled decision could not be reused" in caplog.text
