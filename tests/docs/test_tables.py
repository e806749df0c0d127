"""The tables of the docs agree with the code, in both directions."""

import re
from pathlib import Path

import pytest
from rest_framework.exceptions import APIException

from gatewall import urls  # noqa: F401 - so that the refusals of all views are known
from gatewall.agent.agent import Agent
from gatewall.api.advice import ADVICE
from gatewall.api.codes import CODES, REFUSAL_CODES
from gatewall.engine.access_rules.rules import RuleCredential
from gatewall.engine.model import Reason
from gatewall.install import checks
from gatewall.kernel import env
from gatewall.kernel.refusals import Gone, Refusal
from tests.api.resources import KINDS
from tests.generated_docs import PARTS, written
from tests.generated_reference import variables

DOCS = Path(__file__).resolve().parents[2] / "docs"
VARIABLES = env._NAMES | {
    "ROOT_PATH",
    "DATABASE_URL",
    "DATABASE_URL_FILE",
    "CACHE_URL",
    "CACHE_URL_FILE",
    "GEOIP_DATABASE",
    "GEOIP_ASN_DATABASE",
}


def rows(name, heading):
    """Return the rows of the first table below a heading, each as its cells."""
    text = (DOCS / name).read_text().partition(f"{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0]
    return [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in table.splitlines()[2:]]


def words(text):
    return re.findall(r"`([^`]+)`", text)


def problem_codes(kind=APIException):
    """Return the problem codes of our DRF exceptions."""
    return {each.problem_code for each in refusals(kind) if hasattr(each, "problem_code")}


def refusals(kind=Refusal):
    for each in kind.__subclasses__():
        yield each
        yield from refusals(each)


def test_every_reason_is_in_the_table_of_decisions_and_no_other():
    text = (DOCS / "decisions.md").read_text()
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0]
    last_cells = [line.rstrip("|\n ").rpartition("|")[2] for line in table.splitlines()[2:]]

    assert {reason for cell in last_cells for reason in words(cell)} == {reason.value for reason in Reason}


@pytest.mark.parametrize("page", sorted({page for page, *_ in PARTS.values()}))
def test_generated_pages_are_up_to_date(page):
    assert (DOCS / page).read_text() == written(page), "python -m tests.generated_docs"


@pytest.mark.parametrize(
    "page", ["reference/events.md", "reference/errors.md", "reference/metrics.md", "configuration.md"]
)
def test_every_row_of_a_generated_table_has_a_description(page):
    table = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| `")]

    assert len(table) > 20
    assert [line for line in table if line.endswith("|  |")] == []


def test_refusals_and_listed_codes_correspond():
    named = {refusal.code for refusal in refusals() if "code" in vars(refusal)}

    assert (named | problem_codes()) - set(CODES.values()) == REFUSAL_CODES


SAY_IT_THEMSELVES = """
    address-shared admin-exists admin-required backtest-not-finished code-entry-locked code-required cross-site
    doctor-busy document-refused group-in-use identity-refused invalid-challenge invalid-code
    invalid-credentials invalid-hand-off last-way-in link-over list-changed logout-token-used
    mail-not-configured passkey-refused passkeys-unavailable provider-denied provider-unavailable
    reauthentication-failed reauthentication-required recovery-local-only recovery-refused scope-missing
    session-required share-link-over target-refused too-busy too-large-to-revert too-many-access-requests
    too-many-access-rules too-many-attempts too-many-backtests too-many-device-passes too-many-grants
    too-many-passkeys too-many-share-links too-many-totp-devices totp-enabled totp-not-set-up user-disabled
"""
"""Refusals whose message contains the advice, or that occur only for visitors, programs and sign-ins."""


def test_every_refusal_code_has_documented_advice():
    assert sorted([*ADVICE, *SAY_IT_THEMSELVES.split()]) == sorted({*REFUSAL_CODES, Gone.code})


def test_the_derived_table_of_variables_has_every_variable_and_no_other():
    assert variables() | {f"{name}_FILE" for name in env._SECRETS} == VARIABLES


def test_every_variable_that_the_code_reads_is_a_known_one():
    source = Path(env.__file__).read_text()

    names = r'"((?:GATEWALL_[A-Z_]+[A-Z])|ROOT_PATH|DATABASE_URL|CACHE_URL|GEOIP_(?:ASN_)?DATABASE)"'
    assert set(re.findall(names, source)) <= VARIABLES | env.OF_COMMANDS


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.django_db
def test_every_field_of_a_resource_is_documented(admin, kind):
    row = next(row for row in rows("api.md", "## Resources") if words(row[0])[0] == kind.path)
    shown = admin.post(kind.path, kind.body(0)).json()

    missing = set(shown) - {"id", "created_at", "created_by"} - set(words(row[1]))
    assert missing <= {"warnings"}


def test_every_deploy_check_is_documented_and_no_other():
    named = re.findall(r'id="(gatewall\.\w+)"', Path(checks.__file__).read_text())

    assert [words(row[0])[0] for row in rows("operations.md", "## Before production")] == sorted(named)


@pytest.mark.parametrize(
    ("page", "row"), [("decisions.md", "| credential kinds |"), ("access-rules.md", "| `credential_kinds` |")]
)
def test_a_page_names_every_kind_of_credential_that_a_rule_can_ask_for(page, row):
    (line,) = [line for line in (DOCS / page).read_text().splitlines() if line.startswith(row)]

    assert [kind.value for kind in RuleCredential if f"`{kind.value}`" not in line] == []


def test_the_connections_of_an_agent_are_one_for_itself_and_one_for_each_thread():
    (row,) = [row for row in rows("scaling.md", "## Connections") if row[0] == "agent"]
    number, threads = re.match(r"(\d+): ([^;]+); one more with mail", row[1]).groups()

    assert (
        int(number) == len(threads.split(", ")) == len(Agent.of_this_host()._loops)
    )  # itself, and all threads but mail
