"""On SQLite, the first users of a test are copied into the tables with exactly the rows of the service."""

import re
from unittest import mock

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts import services
from accounts.models import User
from gatewall.policy import revisions
from tests.support import first_users
from tests.support.proxies import a_token, a_user

pytestmark = pytest.mark.django_db
CAST = (("alice", {"is_admin": True}), ("Bob", {}), ("charlie", {"all_domains": False}))
RANDOM = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|md5\$\S+")


def tables():
    """Return all rows; random ids and password hashes are the same each time."""
    rows = {
        model: sorted(map(str, model._base_manager.values()))
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
    }
    return {model: [RANDOM.sub("random", row) for row in found] for model, found in rows.items()}


def attempt(create):
    """Create the cast and roll back; return the tables and the created users."""
    with transaction.atomic():
        users = [create(name, values) for name, values in CAST]
        returned = [{**vars(user), "_state": None, "password": None} for user in users]
        found = tables(), returned, [str(revisions.current().revision), revisions.head().epoch.int > 0]
        transaction.set_rollback(True)
    return found


def test_copied_rows_equal_those_of_the_service(clock):
    def by_service(name, values):
        with mock.patch.object(first_users, "_users_so_far", return_value=None):
            return a_user(name, **values)

    expected = attempt(by_service)
    attempt(lambda name, values: a_user(name, **values))
    refused = mock.patch.object(services, "create_user", side_effect=AssertionError("the service is not needed"))

    with refused:
        assert attempt(lambda name, values: a_user(name, **values)) == expected
    clock.shift(90)
    with refused:
        a_user("alice", is_admin=True)
    assert User.objects.get().created_at == timezone.now()


def test_with_other_rows_in_the_tables_the_service_is_used():
    a_user("alice", is_admin=True)
    assert first_users._users_so_far()
    services.change_user(User.objects.get(), actor="", remark="changed")
    assert first_users._users_so_far() is None


def test_a_user_whose_rows_are_written_again_signs_in():
    for _ in range(2):
        with transaction.atomic():
            assert a_token(a_user("alice", is_admin=True))
            transaction.set_rollback(True)
