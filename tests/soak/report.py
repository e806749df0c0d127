"""Report of a soak test, and its failures."""

from collections.abc import Sequence

from tests.kill_test import report as kill_report
from tests.soak.callers import Outcome
from tests.soak.judgment import Course, courses_of, growing, quantile, tolerance_of
from tests.soak.run import Load, Soaked

_APPLIED = 0.95
"""The share of the load that must be applied for a valid result."""


def failures(soaked: Soaked, load: Load, *, row_seconds: float) -> list[str]:
    """Return messages about failures; none if all is well."""
    kinds = {"edits": soaked.edits, "sign-ins": soaked.sign_ins, "looks at rows": soaked.rows.outcome}
    wrong = kill_report.failures(soaked.account, soaked.ledger)
    for words, outcome in kinds.items():
        if outcome.errors or outcome.refused:
            wrong.append(f"{outcome.errors} {words} got a 5xx or no answer, {outcome.refused} a 4xx")
    if soaked.edits.pending:
        wrong.append(f"{soaked.edits.pending} edits were answered with policy_pending")
    if soaked.ledger.broken or soaked.ledger.refused:
        wrong.append(f"{soaked.ledger.broken + soaked.ledger.refused} questions without an answer")
    if (latest := max(soaked.rows.readable_after, default=0.0)) > row_seconds:
        wrong.append(f"a row was readable after {latest:.2f} s, at most {row_seconds:g} s is allowed")
    wrong += [f"{name} was replaced" for name in sorted(soaked.replaced)]
    wrong += growing(courses_of(soaked.samples))
    return wrong + _not_applied(soaked, load)


def _not_applied(soaked: Soaked, load: Load) -> list[str]:
    applied = {
        "answers": (soaked.account.answers, load.answers),
        "edits": (len(soaked.edits.seconds), load.edits),
        "sign-ins": (len(soaked.sign_ins.seconds), load.sign_ins),
    }
    due = {words: (done, rate * soaked.seconds) for words, (done, rate) in applied.items()}
    return [
        f"the load was not applied: {done} of {wanted:.0f} {words}"
        for words, (done, wanted) in due.items()
        if done < int(wanted * _APPLIED) - 1
    ]


def text_of(soaked: Soaked, load: Load, kind: str, wrong: Sequence[str]) -> str:
    """Return the report in Markdown."""
    rows = soaked.rows.readable_after
    complaints = ", ".join(f"{number} x {words}" for words, number in sorted(soaked.complaints.items())) or "none"
    return "\n\n".join(
        [
            (
                f"{kind}, {soaked.seconds / 60:.1f} minutes; a second: {load.answers:g} answers, {load.edits:g} edits, "
                f"{load.sign_ins:g} sign-ins; {kill_report.machine()}."
            ),
            kill_report.summary(soaked.account, soaked.ledger, 0),
            f"The slowest answer came after {soaked.ledger.slowest:.2f} s.",
            _calls(
                {"edits": soaked.edits, "sign-ins": soaked.sign_ins, "looks at rows": soaked.rows.outcome},
            ),
            f"Seconds from an answer until its row was read, {len(rows)} times: {_figures(rows)}.",
            f"Edits answered with `policy_pending`: {soaked.edits.pending}.",
            f"Complaints in the logs: {complaints}.",
            _table({name: course for name, course in courses_of(soaked.samples).items() if course.highest}),
            *(f"FAILED: {words}" for words in wrong),
        ]
    )


def _calls(kinds: dict[str, Outcome]) -> str:
    lines = ["| Calls | number | seconds: p50 | p99 | max | statuses |", "|---|---:|---:|---:|---:|---|"]
    for words, outcome in kinds.items():
        statuses = ", ".join(f"{status}: {number}" for status, number in sorted(outcome.statuses.items()))
        figures = _figures(outcome.seconds).replace(", ", " | ")
        lines.append(f"| {words} | {len(outcome.seconds)} | {figures} | {statuses} |")
    return "\n".join(lines)


def _figures(seconds: Sequence[float]) -> str:
    return ", ".join(
        f"{value:.2f}" for value in (quantile(seconds, 0.5), quantile(seconds, 0.99), max(seconds, default=0))
    )


def _table(courses: dict[str, Course]) -> str:
    lines = [
        "| Figure | at first | second quarter | last quarter | highest | growth | tolerated |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, course in courses.items():
        tolerance = tolerance_of(name)
        figures = (*course, course.growth)
        tolerated = "-" if tolerance is None else f"{tolerance:g}"
        lines.append(f"| {name} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {tolerated} |")
    return "\n".join(lines)
