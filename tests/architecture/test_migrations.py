"""Migrations run while the previous release does: none locks a large table or breaks that release."""

import re
from pathlib import Path

import pytest
from django.db.migrations import Migration, RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations import operations as ops
from django.db.migrations.loader import MigrationLoader
from django.db.models import (
    CASCADE,
    BooleanField,
    CharField,
    CheckConstraint,
    ForeignKey,
    Index,
    IntegerField,
    JSONField,
    PositiveIntegerField,
    Q,
    UniqueConstraint,
)
from django.db.models.functions import Now, Random

from gatewall.database.online_index import AddIndexOnline
from tests.support import migration_rules as rules

BASE = Path(__file__).resolve().parents[2]
FIRST = "0.1.0"
BY_COUNTRY = Index(fields=["country_code", "at"], name="access_log_by_country")


@pytest.fixture(scope="module")
def loader():
    return MigrationLoader(None)


def codes(loader, app, *operations, **attributes):
    """Return the codes of the findings in a migration with these operations after the first release."""
    migration = type("Migration", (Migration,), {"operations": list(operations), **attributes})("9999_next", app)
    state, history = rules.at_release(loader, rules.releases()[FIRST])
    return [code for code, _ in rules.findings(migration, state, history)]


def test_every_migration_since_the_newest_release_is_safe_under_traffic(loader):
    *_, newest = rules.releases().values()
    found = rules.judged(loader, newest)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_every_release_has_its_table_and_every_table_its_migrations(loader):
    released = rules.releases()
    told = re.findall(r"^## \[(\d[^\]]*)\]", (BASE / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert list(released) == [*reversed(told)]
    assert all((app, name) in loader.graph.nodes for table in released.values() for app, name in table.items())
    assert set(released[FIRST]) == set(rules.APPS) == {app for app, _ in loader.graph.nodes if _is_ours(loader, app)}


def _is_ours(loader, app):
    files = [loader.get_migration(*key).__module__ for key in loader.graph.nodes if key[0] == app]
    return all(not each.startswith("django.") for each in files)


def test_every_table_listed_as_small_exists(loader):
    *_, newest = rules.releases().values()
    _, history = rules.at_release(loader, newest)
    assert set(rules.FEW_ROWS) <= history.models


@pytest.mark.parametrize(
    ("app", "operation"),
    [
        ("audit", ops.AddField("accesslog", "tls", CharField(max_length=8, null=True))),
        ("audit", ops.AddField("accesslog", "bot", BooleanField(db_default=False))),
        ("audit", ops.AddField("accesslog", "names", JSONField(db_default=["one"]))),
        ("audit", AddIndexOnline("accesslog", BY_COUNTRY)),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=200))),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=100, help_text="the host"))),
        ("policies", ops.AddIndex("wafrule", Index(fields=["category"], name="waf_by_category"))),
        ("audit", ops.CreateModel("Fresh", [("id", IntegerField(primary_key=True)), ("must", IntegerField())])),
        ("audit", SeparateDatabaseAndState(state_operations=[ops.RemoveField("accesslog", "host")])),
        ("audit", SeparateDatabaseAndState(state_operations=[ops.DeleteModel("LogGap")])),
    ],
)
def test_operations_compatible_with_the_previous_release_pass(loader, app, operation):
    assert codes(loader, app, operation, atomic=not isinstance(operation, AddIndexOnline)) == []


@pytest.mark.parametrize(
    ("app", "operation", "code"),
    [
        ("gatewall", ops.AddField("systemsettings", "more", PositiveIntegerField(default=1)), "not-null"),
        ("audit", ops.AddField("accesslog", "dice", IntegerField(db_default=Random())), "rewrite"),
        ("audit", ops.AddField("accesslog", "tls", CharField(max_length=8, null=True, db_index=True)), "index"),
        (
            "audit",
            ops.AddField("accesslog", "gap", ForeignKey("audit.LogGap", CASCADE, null=True, db_index=False)),
            "scan",
        ),
        ("audit", ops.AddIndex("accesslog", BY_COUNTRY), "index"),
        ("policies", ops.AddIndex("blocklistentry", Index(fields=["remark"], name="by_remark")), "index"),
        ("audit", ops.AlterField("accesslog", "host", CharField(max_length=255)), "not-null"),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=50)), "type"),
        ("audit", ops.AlterField("accesslog", "status", CharField(max_length=3)), "type"),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=100, db_column="n")), "rename"),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=100, db_index=True)), "index"),
        ("audit", ops.AlterField("accesslog", "node", CharField(max_length=100, null=True)), "nullable"),
        ("audit", ops.RenameField("accesslog", "node", "machine"), "rename"),
        ("audit", ops.RenameModel("LogGap", "Gap"), "rename"),
        ("audit", ops.AlterModelTable("LogGap", "gaps"), "rename"),
        ("audit", ops.RemoveField("accesslog", "host"), "drop"),
        ("audit", ops.DeleteModel("LogGap"), "drop"),
        ("audit", RunSQL("ALTER TABLE audit_accesslog DROP COLUMN host"), "drop"),
        ("audit", RunSQL("DROP TABLE audit_loggap"), "drop"),
        ("audit", RunSQL("UPDATE audit_accesslog SET node = ''"), "sql"),
        ("audit", RunPython(print), "code"),
        ("audit", ops.AlterOrderWithRespectTo("loggap", None), "unknown"),
        ("audit", SeparateDatabaseAndState(state_operations=[ops.RemoveField("accesslog", "node")]), "not-null"),
        ("audit", SeparateDatabaseAndState([ops.AddIndex("accesslog", BY_COUNTRY)]), "index"),
        ("audit", AddIndexOnline("accesslog", BY_COUNTRY), "atomic"),
        ("audit", ops.AddConstraint("accesslog", CheckConstraint(condition=Q(status__gt=0), name="c")), "scan"),
        ("policies", ops.AddConstraint("wafrule", CheckConstraint(condition=Q(score__lt=9), name="c")), "narrower"),
        ("policies", ops.AddConstraint("wafrule", UniqueConstraint(fields=["pattern"], name="c")), "narrower"),
        ("policies", ops.RemoveConstraint("wafrule", "waf_score_in_range"), "conflict-target"),
    ],
)
def test_operations_that_lock_a_table_or_break_the_previous_release_are_found(loader, app, operation, code):
    assert code in codes(loader, app, operation)


def test_objects_of_the_same_release_may_be_changed_and_dropped(loader):
    operations = [
        ops.CreateModel("Fresh", [("id", IntegerField(primary_key=True)), ("one", IntegerField(null=True))]),
        ops.AddField("fresh", "two", IntegerField()),
        ops.AddIndex("fresh", Index(fields=["one"], name="fresh_by_one")),
        ops.RemoveField("fresh", "two"),
        ops.AddField("wafrule", "limit", IntegerField(db_default=1)),
        ops.AddConstraint("wafrule", CheckConstraint(condition=Q(limit__gt=0), name="limit_is_positive")),
        ops.RemoveField("wafrule", "limit"),
        ops.DeleteModel("Fresh"),
    ]
    assert codes(loader, "policies", *operations) == []


def test_the_current_time_as_a_database_default_is_accepted(loader):
    assert codes(loader, "audit", ops.AddField("accesslog", "seen", CharField(max_length=9, db_default=Now()))) == []


def test_a_column_may_be_dropped_one_release_after_its_removal_from_the_state(loader):
    state, history = rules.at_release(loader, rules.releases()[FIRST])
    away = SeparateDatabaseAndState(state_operations=[ops.RemoveField("accesslog", "host"), ops.DeleteModel("LogGap")])
    drops = [RunSQL("ALTER TABLE audit_accesslog DROP COLUMN host;"), RunSQL('DROP TABLE "audit_loggap"')]
    next_one = type("Migration", (Migration,), {"operations": drops})("9999_next", "audit")
    assert [code for code, _ in rules.findings(next_one, state, history)] == ["drop", "drop"]

    rules._remember_unused(history, away, "audit", state)
    assert rules.findings(next_one, state, history) == []


def test_a_reason_accepts_unknown_operations_but_no_known_violation(loader):
    assert codes(loader, "audit", RunPython(print), accepted={"code": "three rows"}) == []
    assert codes(loader, "audit", RunPython(print), accepted={"code": " "}) == ["code"]
    assert codes(loader, "audit", ops.RemoveField("accesslog", "host"), accepted={"drop": "nobody cares"}) == ["drop"]
    renamed = RunSQL("ALTER TABLE audit_loggap RENAME TO gaps")
    assert codes(loader, "audit", renamed, accepted={"sql": "nobody cares"}) == ["drop"]
