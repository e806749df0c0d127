"""Every revision of random histories can be restored, and the restore can be undone."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewall.policy import system_settings
from policies.history.restore import restore
from policies.models import AuthorizedDomain
from policies.rules.builtin import seed_waf_rules
from tests.support.history import Step, now, scopes, the_rows
from tests.support.proxies import a_license

pytestmark = pytest.mark.django_db


def histories(number):
    """Return a decorator that runs a test with this number of random histories, the same in each run."""
    bounds = settings(
        database=None, deadline=None, derandomize=True, max_examples=number, suppress_health_check=list(HealthCheck)
    )
    return lambda test: bounds(given(seed=st.integers(0, 2**32), seeded=st.booleans())(test))


@histories(3)
def test_every_revision_can_be_restored_and_redone(db, seed, seeded):
    there_and_back(Step(seed), seeded=seeded)


@pytest.mark.full
@histories(40)
def test_every_revision_of_many_histories_can_be_restored_and_redone(db, seed, seeded):
    there_and_back(Step(seed), seeded=seeded)


def there_and_back(step, *, seeded):
    sid = transaction.savepoint()
    try:
        go_there_and_back(step, seeded=seeded)
    finally:
        transaction.savepoint_rollback(sid)


def go_there_and_back(step, *, seeded):
    past = {}
    system_settings.change(actor="x", waf_mode="block")
    if seeded:
        seed_waf_rules(actor="seed")
    for number in range(25):
        step()
        past[now()] = the_rows()
        if number == 10:
            a_license(all_domains=False, authorized_domains=AuthorizedDomain.objects.all())
    for number in [*step.chance.sample(sorted(past), min(4, len(past))), max(past)]:
        scoped, before = scopes(), now()
        restore(number, actor="alice")
        assert the_rows() == past[number]
        assert all(after <= scoped[id_] for id_, after in scopes().items())
        restore(before, actor="alice")
        restore(number, actor="alice")
        assert the_rows() == past[number]
