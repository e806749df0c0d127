"""Policy resources are registered once: other lists of resources derive from the registrations."""

import ast
from dataclasses import fields

from gatewall.engine.snapshot import KINDS, PolicySnapshot, Segment
from gatewall.kernel.changes import DECIDING, Resource
from gatewall.publication import compiler
from gatewall.publication.resources import BY_NAME, LOGGED
from policies import views
from policies.models import RESTORABLE
from tests.architecture.test_contracts import PACKAGES, named, sources

SPELL_THEM = {
    "gatewall/kernel/changes.py": "their names",
    "gatewall/engine/snapshot.py": "segments, some of which have the name of a resource",
    "gatewall/engine/steps.py": "each step says which row decides",
    "gatewall/replay/settled_rules.py": "asks whether rules, and the rows that exempt from them, have changed",
    "gatewall/replay/redecision.py": "asks whether the rows that decided then have changed",
    "gatewall/console/backtest/forms.py": "a form for each draft",
    "gatewall/replay/change_reach.py": "asks which requests a change of each concerns; of others, all",
}
"""Modules that name more than two of the deciding resources, with the reason."""

BESIDES = {Resource.GROUPS, Resource.EXPECTATIONS}
"""Restored although they decide nothing: groups add to scopes, expectations belong to the policy document."""


def test_every_deciding_resource_is_restorable_and_registered():
    assert {model.recorded.resource for model in RESTORABLE} == {*DECIDING, *BESIDES}
    assert set(DECIDING) <= {view.resource.name for view in views.RESOURCES}
    assert {each.value for each in DECIDING} <= set(LOGGED)


def test_every_resource_that_revisions_record_is_registered():
    assert set(BY_NAME) == {each.value for each in Resource}
    assert all(BY_NAME[model.recorded.resource].model is model for model in RESTORABLE)


def test_every_segment_has_rows_a_codec_and_a_table():
    assert set(KINDS) == set(Segment) == compiler._ROWS.keys() | compiler._SHARDS.keys()
    tables = {field.name for field in fields(PolicySnapshot)}
    assert {kind.attribute for kind in KINDS.values() if kind.attribute} == tables - {"version", "lists", "identity"}


def test_no_other_module_lists_the_resources():
    listing = {named(path) for path in sources(*PACKAGES, "deploy") if len(set(deciding_in(path))) > 2}

    assert listing == set(SPELL_THEM)


def deciding_in(path):
    """Yield the resources that a module names, by value or as a member of ``Resource``."""
    by_name = {each.value: each for each in DECIDING} | {each.name: each for each in DECIDING}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and node.value in by_name:
            yield by_name[node.value]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Resource":
            yield from [by_name[node.attr]] if node.attr in by_name else []
