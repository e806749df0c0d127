"""The fields of the access record are in one table, with which model and documentation agree."""

from django.db import models

from audit.models import AccessLog
from audit.spool.records import FIELDS, Kind
from tests.docs.test_tables import rows, words

COLUMN = {
    Kind.ID: models.UUIDField,
    Kind.MOMENT: models.DateTimeField,
    Kind.ADDRESS: models.CharField,
    Kind.TEXT: models.CharField,
    Kind.NUMBER: (models.PositiveSmallIntegerField, models.BigIntegerField),
    Kind.FLAG: models.BooleanField,
    Kind.ROW: (models.CharField, models.BigIntegerField),
    Kind.RULES: models.JSONField,
    Kind.JSON: models.JSONField,
}


def test_the_columns_of_the_access_log_match_the_table_of_fields():
    columns = {column.name: column for column in AccessLog._meta.concrete_fields}
    said = {name: (field, length) for field in FIELDS for name, length in field.columns.items()}

    assert set(columns) == set(said)
    for name, (field, length) in said.items():
        column = columns[name]
        assert isinstance(column, COLUMN[field.kind]), name
        assert not length or column.max_length == length, name
        assert column.null == (field.null or field.kind in {Kind.ROW, Kind.FLAG}), name


def test_every_field_is_documented_and_no_other():
    named = {name for row in rows("decisions.md", "## The record of an answer") for name in words(row[0])}

    assert named | {"node"} == {field.name for field in FIELDS}
