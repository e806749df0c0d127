"""The database after tests that commit has only the rows of migrations."""

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import TransactionTestCase

from tests.support.emptied import KEPT

pytestmark = pytest.mark.django_db(transaction=True)


def filled_tables():
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with connection.cursor() as cursor:
        counts = {
            table: cursor.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608 - names of our tables
            for table in tables
        }
    return {table for table, count in counts.items() if count}


def test_only_the_rows_of_migrations_are_left(alice, charlie):
    assert filled_tables() > KEPT

    TransactionTestCase()._fixture_teardown()

    assert filled_tables() == KEPT
    assert ContentType.objects.count() == len(apps.get_models())
