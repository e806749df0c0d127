"""Single source of truth: no second product file lists decision steps, reasons or settings."""

import re
from pathlib import Path

from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS
from gatewall.models import SystemSettings

BASE = Path(__file__).resolve().parents[2]
PACKAGES = ("gatewall", "accounts", "policies", "licensing", "audit", "webhooks")
TABLES = {
    "gatewall/engine/steps.py",
    "gatewall/engine/access_steps.py",
    "gatewall/engine/model.py",
    "gatewall/models/settings.py",
    "gatewall/admin/settings_words.py",
    "gatewall/engine/snapshot.py",
}
MOST_STEPS, MOST_REASONS, MOST_SETTINGS = 1, 7, 8
"""How many a file may name without counting as a list: code about one step, some refusals, or one subject."""
SETTINGS = [column.name for column in SystemSettings.columns()]


def steps_in(text):
    """Return the steps that a text names, as functions or as in the API."""
    names = "|".join(step.name.replace("-", "[-_]") for step in STEPS)
    return {found.replace("_", "-") for found in re.findall(rf"(?<![\w-])(?:{names})(?![\w-])", text)}


def reasons_in(text):
    """Return the reasons that a text names, as members or as quoted values."""
    members = {name for name in re.findall(r"\bReason\.([A-Z_]+)", text) if name in Reason.__members__}
    values = {value for value in re.findall(r"""["']([a-z-]+)["']""", text) if value in set(Reason)}
    return values | {Reason[name].value for name in members}


def settings_in(text):
    """Return the settings that a text names."""
    return set(re.findall(rf"\b(?:{'|'.join(SETTINGS)})\b", text))


def product_files():
    files = (path for package in PACKAGES for kind in ("*.py", "*.html") for path in (BASE / package).rglob(kind))
    named = {str(path.relative_to(BASE)): path for path in files if "migrations" not in path.parts}
    return {name: path.read_text() for name, path in named.items() if name not in TABLES}


def test_no_other_product_file_lists_decision_steps():
    assert {name for name, text in product_files().items() if len(steps_in(text)) > MOST_STEPS} == set()


def test_no_other_product_file_lists_reasons():
    assert {name for name, text in product_files().items() if len(reasons_in(text)) > MOST_REASONS} == set()


def test_no_other_product_file_lists_settings():
    assert {name for name, text in product_files().items() if len(settings_in(text)) > MOST_SETTINGS} == set()


def test_a_second_list_is_detected():
    assert len(settings_in((BASE / "gatewall/models/settings.py").read_text())) == len(SETTINGS)
    assert len(steps_in((BASE / "gatewall/engine/steps.py").read_text())) == len(STEPS)
    assert steps_in('ORDER = ["client-is-blocked", host_is_public]') == {"client-is-blocked", "host-is-public"}
    assert len(reasons_in((BASE / "gatewall/engine/model.py").read_text())) == len(Reason)
    assert reasons_in('{Reason.WAF_RULE: 1, "host-public": 2}') == {"waf-rule", "host-public"}
