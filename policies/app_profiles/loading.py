"""Read the app profiles, one TOML file per app."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from gatewall.engine.access_rules.rules import PathMatch, PathPattern
from gatewall.engine.hosts import Access
from gatewall.engine.waf.builtin import BUILTIN_RULES
from policies.access_conditions import validate_methods, validate_paths
from policies.exclusions import TEXTS, validate_exclusion

FOLDER = Path(__file__).parent
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OPTIONAL = {"needs", "waf_exclusions"}


_BUILTIN_KEYS = frozenset([rule.key for rule in BUILTIN_RULES])


class InvalidProfile(ValueError):
    """A profile has an unknown key, a missing key or an invalid value; the message names file and place."""


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """An access rule of a profile, with its reasons.

    ``opens``: the clients that need it. ``safe_because``: how the app authenticates there, and what a request without
    a credential gets. ``needs``: a setting of the app that makes the rule safe; empty if the rule needs none.
    """

    name: str
    paths: tuple[PathPattern, ...]
    methods: tuple[str, ...]
    access: Access
    opens: str
    safe_because: str
    needs: str = ""


@dataclass(frozen=True, slots=True)
class NotOpened:
    """Paths of an app that its profile does not open, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProfileExclusion:
    """Exclusion from built-in WAF rules that refuse ordinary requests of the app.

    ``rules``: keys of built-in rules. ``fields``: fields of an exclusion, without domain and expiry. ``why``: which
    requests are refused, and what the app does with the part. ``source``: URL of its documentation or source code.
    """

    rules: tuple[str, ...]
    fields: Mapping[str, str]
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class AppProfile:
    """The access rules for one app, in order: the first that matches decides; and its WAF exclusions.

    ``sources``: URLs of the app's documentation or source code from which the rules were derived.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    rules: tuple[ProfileRule, ...]
    not_opened: tuple[NotOpened, ...]
    waf_exclusions: tuple[ProfileExclusion, ...] = ()


@cache
def profiles() -> Mapping[str, AppProfile]:
    """Return all profiles by name, sorted by name. Raises InvalidProfile."""
    return {path.stem: read_profile(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_profile(path: Path) -> AppProfile:
    """Return the profile in a file, which is named after the app. Raises InvalidProfile."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidProfile(f"{path.name}: {error}") from error
    where = path.name
    _check_keys(where, values, AppProfile)
    if values["name"] != path.stem:
        raise InvalidProfile(f"{where}: name: expected {path.stem!r}, as the file is called")
    rules = tuple(_rule(f"{where}: rules[{n}]", row) for n, row in enumerate(_tables(where, values, "rules")))
    if len({rule.name for rule in rules}) < len(rules):
        raise InvalidProfile(f"{where}: rules: two rules have the same name")
    return AppProfile(
        name=_name(where, values["name"]),
        title=_text(where, values, "title"),
        sources=_sources(where, values["sources"]),
        rules=rules,
        not_opened=tuple(
            _not_opened(f"{where}: not_opened[{n}]", row) for n, row in enumerate(_tables(where, values, "not_opened"))
        ),
        waf_exclusions=_exclusions(where, values["waf_exclusions"]) if "waf_exclusions" in values else (),
    )


def _check_keys(where: str, values: Any, row: type[AppProfile | ProfileRule | NotOpened]) -> None:
    """Raise InvalidProfile unless the table has exactly the keys of this dataclass; optional keys may be missing."""
    if not isinstance(values, dict):
        raise InvalidProfile(f"{where}: a table is expected")
    known = {field.name for field in fields(row)}
    for key in sorted(values.keys() - known):
        raise InvalidProfile(f"{where}: unknown key {key!r}")
    for key in sorted(known - values.keys() - _OPTIONAL):
        raise InvalidProfile(f"{where}: {key!r} is missing")


def _tables(where: str, values: dict[str, Any], key: str) -> list[Any]:
    rows = values[key]
    if not isinstance(rows, list) or not rows:
        raise InvalidProfile(f"{where}: {key}: at least one table is expected")
    return rows


def _text(where: str, values: dict[str, Any], key: str) -> str:
    text = values[key]
    if not isinstance(text, str) or not text.strip():
        raise InvalidProfile(f"{where}: {key}: text is expected")
    return " ".join(text.split())


def _name(where: str, name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidProfile(f"{where}: name: {name!r}: expected lower-case words joined by hyphens")
    return name


def _sources(where: str, sources: Any) -> tuple[str, ...]:
    if not isinstance(sources, list) or not sources:
        raise InvalidProfile(f"{where}: sources: at least one URL is expected")
    for source in sources:
        if not isinstance(source, str) or not source.startswith("https://"):
            raise InvalidProfile(f"{where}: sources: {source!r} is no https URL")
    return tuple(sources)


def _rule(where: str, values: Any) -> ProfileRule:
    _check_keys(where, values, ProfileRule)
    try:
        access = Access(values["access"])
    except ValueError:
        raise InvalidProfile(f"{where}: access: {values['access']!r} is unknown") from None
    if access not in {Access.PUBLIC, Access.DENIED}:
        raise InvalidProfile(f"{where}: access: {access.value} could ask for less than the domain does")
    return ProfileRule(
        name=_name(where, values["name"]),
        paths=_paths(where, values["paths"]),
        methods=_methods(where, values["methods"]),
        access=access,
        opens=_text(where, values, "opens"),
        safe_because=_text(where, values, "safe_because"),
        needs=_text(where, values, "needs") if "needs" in values else "",
    )


def _methods(where: str, methods: Any) -> tuple[str, ...]:
    if not methods:
        raise InvalidProfile(f"{where}: methods: at least one method is expected")
    _validate(f"{where}: methods", validate_methods, methods)
    return tuple(methods)


def _paths(where: str, paths: Any) -> tuple[PathPattern, ...]:
    if not paths:
        raise InvalidProfile(f"{where}: paths: at least one path is expected")
    _validate(f"{where}: paths", validate_paths, paths)
    return tuple(PathPattern(PathMatch(path["match"]), path["value"]) for path in paths)


def _validate(where: str, validate: Callable[[Any], None], value: Any) -> None:
    try:
        validate(value)
    except ValidationError as error:
        raise InvalidProfile(f"{where}: {' '.join(error.messages)}") from error


def _not_opened(where: str, values: Any) -> NotOpened:
    _check_keys(where, values, NotOpened)
    return NotOpened(what=_text(where, values, "what"), reason=_text(where, values, "reason"))


def _exclusions(where: str, rows: Any) -> tuple[ProfileExclusion, ...]:
    """Return the WAF exclusions of a profile. Raises InvalidProfile."""
    if not isinstance(rows, list) or not rows:
        raise InvalidProfile(f"{where}: waf_exclusions: at least one table is expected")
    return tuple(_exclusion(f"{where}: waf_exclusions[{n}]", row) for n, row in enumerate(rows))


def _exclusion(where: str, values: Any) -> ProfileExclusion:
    if not isinstance(values, dict):
        raise InvalidProfile(f"{where}: a table is expected")
    own = {"rules", "why", "source"}
    for key in sorted(values.keys() - own - (set(TEXTS) - {"domain"})):
        raise InvalidProfile(f"{where}: unknown key {key!r}")
    for key in sorted(own - values.keys()):
        raise InvalidProfile(f"{where}: {key!r} is missing")
    fields = {name: values[name] for name in TEXTS if name in values}
    _validate(where, validate_exclusion, fields)
    if not any(name.startswith("path_") and value for name, value in fields.items()):
        raise InvalidProfile(f"{where}: a path is expected")
    rules = values["rules"]
    if not isinstance(rules, list) or not rules or not {*rules} <= _BUILTIN_KEYS:
        raise InvalidProfile(f"{where}: rules: keys of built-in rules are expected")
    (source,) = _sources(where, [values["source"]])
    return ProfileExclusion(tuple(rules), fields, _text(where, values, "why"), source)
