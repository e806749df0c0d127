"""Any policy, exported and applied again here or on an empty installation, exports the same bytes."""

import json

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.services import create_user
from gatewall.policy import revisions
from policies.document.applying import apply
from policies.document.comparison import changes
from policies.document.export import ALL, export
from policies.document.reading import read
from policies.rules.builtin import seed_waf_rules
from tests.support.history import Step
from tests.support.policy_documents import USERS, documents

pytestmark = pytest.mark.django_db
EMPTY = {"version": 1, "settings": {}, **{name: [] for name in ALL - {"settings"}}}


def made_up(number):
    """Run a test with this many generated policies, the same ones each time."""
    return settings(
        database=None,
        deadline=None,
        derandomize=True,
        max_examples=number,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture
def users(db):
    for name in USERS:
        create_user(actor="x", username=name, password="correct horse battery")
    seed_waf_rules(actor="seed")


def rolled_back(test):
    """Roll back the changes of an example."""
    sid = transaction.savepoint()
    try:
        test()
    finally:
        transaction.savepoint_rollback(sid)


@made_up(5)
@given(first=documents(), second=documents())
def test_generated_documents_can_replace_each_other(users, first, second):
    rolled_back(lambda: follow_each_other(first, second))


@pytest.mark.full
@made_up(150)
@given(first=documents(), second=documents())
def test_many_generated_documents_can_replace_each_other(users, first, second):
    rolled_back(lambda: follow_each_other(first, second))


def follow_each_other(first, second):
    before = revisions.current().revision
    for number, values in enumerate((first, second, EMPTY, first)):
        document = read(json.dumps(values).encode())
        assert read(document.canonical()) == document
        differing = changes(document)
        revision = apply(document, actor="x", force=True)
        assert (revision is None) == (not differing), (number, differing)
        assert export().canonical().splitlines() == document.canonical().splitlines()
        assert apply(read(export().canonical()), actor="x", force=True) is None
    assert revisions.current().revision <= before + 4


@made_up(3)
@given(seed=st.integers(0, 2**32))
def test_a_policy_of_random_changes_is_the_same_on_an_empty_installation(users, seed):
    rolled_back(lambda: come_back(Step(seed)))


def come_back(step):
    for _ in range(25):
        step()
    data = export().canonical()
    apply(read(json.dumps(EMPTY).encode()), actor="x", force=True)
    assert export().canonical() != data

    apply(read(data), actor="x", force=True)

    assert export().canonical() == data
