"""Generate the tables in docs/ that are derived from the code: `python -m tests.generated_docs`."""

import inspect
import json
import re
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import django
from django.db import models

from gatewall.engine.access_rules.rules import PathMatch, PathPattern
from gatewall.engine.hosts import Access
from gatewall.engine.steps import STEPS, Step
from policies.app_profiles.loading import AppProfile, ProfileRule, profiles
from tests import generated_reference as reference
from tests.generated_reference import commands, reasons

DOCS = Path(__file__).resolve().parents[1] / "docs"


def _parts(step: Step) -> tuple[str, str]:
    """Return when the step applies and the reason of its position, from the docstring of its function."""
    applies, _, why = (inspect.getdoc(step.function) or "").partition("\n\n")
    return applies[:1].lower() + applies[1:].rstrip("."), why[:1].lower() + why[1:].replace("\n", " ")


def steps() -> str:
    """Return the rows of the table of decision steps."""
    return "".join(
        f"| {number} | `{step.function.__name__}` | {_parts(step)[0]} | {step.reasons[0].effect.status} | "
        f"{', '.join(f'`{reason.value}`' for reason in step.reasons)} |\n"
        for number, step in enumerate(STEPS, 1)
    )


def why_here() -> str:
    """Return the list of reasons for the position of each step."""
    items = (f"{number}. **`{step.function.__name__}`** {_parts(step)[1]}" for number, step in enumerate(STEPS, 1))
    return "".join(textwrap.fill(item, 120, subsequent_indent="   ", break_on_hyphens=False) + "\n" for item in items)


def settings() -> str:
    """Return the rows of the table of system settings."""
    from gatewall.models import SystemSettings  # noqa: PLC0415 - after django.setup()

    return "".join(
        f"| `{column.name}` | {_default(column.get_default())} | {_values(column)} | {column.help_text} |\n"
        for column in SystemSettings.columns()
    )


def _default(value: object) -> str:
    return f"`{json.dumps(value) if isinstance(value, bool) else value}`" if value != "" else "empty"


def _values(column: "models.Field[Any, Any]") -> str:
    if column.choices:
        return ", ".join(f"`{value}`" for value, _ in column.choices)
    if isinstance(column, models.BooleanField):
        return "`true`, `false`"
    if isinstance(column, models.IntegerField):
        from gatewall.models.settings import bounds  # noqa: PLC0415 - after django.setup()

        return "{:,} to {:,}".format(*bounds(column))
    return f"up to {column.max_length} characters"


def app_profiles() -> str:
    """Return a section for each app profile: its rules, what it leaves closed, and its sources."""
    return "".join(_profile(profile) for profile in profiles().values())


def _profile(profile: AppProfile) -> str:
    rules = "".join(_profile_rule(rule) for rule in profile.rules)
    closed = "".join(f"| {_as_code(each.what)} | {_as_code(each.reason)} |\n" for each in profile.not_opened)
    sources = "".join(f"* <{source}>\n" for source in profile.sources)
    return (
        f"### {profile.title}\n\nIts name is `{profile.name}`.\n\n"
        f"| Rule | Opens | Methods and paths | Why that is safe |\n|---|---|---|---|\n{rules}\n"
        f"| Stays closed | Because |\n|---|---|\n{closed}\n{_profile_exclusions(profile)}Sources:\n\n{sources}\n"
    )


def _profile_exclusions(profile: AppProfile) -> str:
    if not profile.waf_exclusions:
        return "WAF exclusions: none.\n\n"
    rows = ""
    for each in profile.waf_exclusions:
        rules = ", ".join(f"`{key}`" for key in each.rules)
        fields = ", ".join(f"`{name}` `{value}`" for name, value in each.fields.items())
        rows += f"| {rules} | {fields} | {_as_code(each.why)} [Source]({each.source}) |\n"
    return f"| WAF rules | Do not apply to | Because |\n|---|---|---|\n{rows}\n"


def _profile_rule(rule: ProfileRule) -> str:
    access = "" if rule.access is Access.PUBLIC else f" ({rule.access.value})"
    methods, paths = ", ".join(rule.methods), ", ".join(f"`{_as_glob(path)}`" for path in rule.paths)
    needs = f" **{rule.needs}**" if rule.needs else ""
    return f"| `{rule.name}`{access} | {rule.opens} | {methods} {paths} | {_as_code(rule.safe_because)}{needs} |\n"


def _as_code(text: str) -> str:
    """Return the text with its paths marked as code."""
    return re.sub(r"(?<![^\s(])(/[^\s,;)]*?)(?=[.,;:)]*(?:\s|$))", r"`\1`", text)


def _as_glob(path: PathPattern) -> str:
    return f"{path.value}/**" if path.match is PathMatch.PREFIX else path.value


PARTS = {
    "the app profiles": ("app-profiles.md", "## Profiles\n\n", r"(?:(?!## ).*\n)*", app_profiles),
    "the table of decision steps": (
        "decisions.md",
        "| # | Step | Applies when | Status | Reason |\n|---|---|---|---|---|\n",
        r"(?:\| \d+ \| .*\n)*",
        steps,
    ),
    "why each step stands where it stands": (
        "decisions.md",
        "## Why the steps have this order\n\n",
        r"(?:(?:\d+\.|  ) .*\n)*",
        why_here,
    ),
    "the table of system settings": (
        "configuration.md",
        "| Setting | Default | Values | Meaning |\n|---|---|---|---|\n",
        r"(?:\| `\w+` \| .*\n)*",
        settings,
    ),
    "the commands": ("reference/commands.md", "<!-- commands -->\n", r"(?:(?!<!-- /commands).*\n)*", commands),
    "the reasons": (
        "reference/reasons.md",
        "<!-- reasons -->\n",
        r"(?:(?!<!-- /reasons).*\n)*",
        reasons,
    ),
    **{
        f"the table of {page}": (page, f"{header}|{'---|' * header.count(' | ')}---|\n", r"(?:\| `.*\n)*", write)
        for page, header, write in (
            ("reference/events.md", reference.EVENTS, reference.events),
            ("reference/errors.md", reference.ERRORS, reference.errors),
            ("reference/metrics.md", reference.METRICS, reference.metrics),
            ("configuration.md", reference.ENVIRONMENT, reference.environment),
        )
    },
    "the list of ADRs": ("adr/README.md", f"{reference.ADRS}|---|---|---|\n", r"(?:\| \[.*\n)*", reference.adrs),
    "the secrets in files": ("configuration.md", f"{reference.FILES}|---|---|\n", r"(?:\| `.*\n)*", reference.files),
}
"""Each derived part: its page, the text before it, its pattern, and the function that writes it."""


def written(page: str) -> str:
    """Return the text of a page with all derived parts, generated from the current code."""
    text = (DOCS / page).read_text()
    for place, front, shape, write in PARTS.values():
        if place == page:
            text, found = re.subn(f"(?<={re.escape(front)}){shape}", write().replace("\\", r"\\"), text, count=1)
            if not found:
                raise ValueError(f"{page}: {front!r} is not there")
    return text


POLICY_SCHEMA = "policy.schema.json"


def policy_schema() -> str:
    """Return the JSON Schema of policy documents."""
    from policies.document.schema import schema  # noqa: PLC0415 - after django.setup()

    return json.dumps(schema(), indent=2) + "\n"


def main() -> None:
    """Write all pages."""
    (DOCS / POLICY_SCHEMA).write_text(policy_schema())
    for page in {place for place, *_ in PARTS.values()}:
        (DOCS / page).write_text(written(page))


if __name__ == "__main__":
    django.setup()
    import_module("gatewall.urls")  # so that the refusals of all views are known
    main()
