"""Readable output of ``gatewall policy``. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_OF_THE_DRY_RUN = frozenset({"created_at", "created_by"})
"""Fields of a planned row whose values come from the dry run."""
_SIGNS = {"created": "+", "changed": "~", "deleted": "-"}


def of_changes(changes: "list[Mapping[str, Any]]") -> Iterator[str]:
    """Yield the lines of differences, by section: ``+`` created, ``~`` changed, ``-`` deleted."""
    section = None
    for each in changes:
        if each["section"] != section:
            section = each["section"]
            yield f"{section}:"
        if each["key"]:
            yield f"  {_SIGNS[each['action']]} {shown(each['key'])}"
        yield from _fields(each)


def _fields(change: Mapping[str, Any]) -> Iterator[str]:
    if change["action"] == "changed":
        for name, after in change["after"].items():
            yield f"      {name}: {_value(change['before'][name])} -> {_value(after)}"
    elif change["action"] == "created":
        for name, after in change["after"].items():
            if shown(after) != change["key"] and name not in _OF_THE_DRY_RUN and not name.endswith("_ids"):
                yield f"      {name}: {_value(after)}"


def of_plan(plan: Mapping[str, Any], hours: int) -> Iterator[str]:
    """Yield the lines of a plan: changes, settings it resets, expectations that fail, who would lose or gain access."""
    yield f"Plan {plan['id']} for revision {plan['revision']}, digest {plan['digest']}"
    if plan["changes"] is None:
        yield from (f"{each['resource']}: {each['count']:,} {each['action']}" for each in plan["counts"])
    elif plan["changes"]:
        yield from of_changes([{**each, "section": each["resource"], "key": each["name"]} for each in plan["changes"]])
    else:
        yield "No changes."
    yield from _reset(plan.get("reset_settings", []))  # a server of 0.1.0 sends none
    yield from _expectations(plan["expectations"])
    if plan["would_lock_you_out"]:
        yield "Applying this would lock you out."
    if plan["replay"]:
        yield from _replay(plan["replay"], hours)


def _reset(settings: "list[Mapping[str, Any]]") -> Iterator[str]:
    if settings:
        yield "Warning: the document has a section of settings that leaves these out, so they get their default."
        yield "To keep them, edit an export:"
    for each in settings:
        yield f"  ! {each['name']}: {_value(each['before'])} -> {_value(each['after'])}"


def _expectations(outcomes: "list[Mapping[str, Any]]") -> Iterator[str]:
    failed = [each for each in outcomes if not each["passed"]]
    if outcomes:
        yield f"Expectations: {len(outcomes) - len(failed)} of {len(outcomes)} hold"
    for each in failed:
        got = _answer(each["got"]) if each["got"] else f"undecidable: {each['undecidable']}"
        yield f"  ! {shown(each['name'])}: wanted {_answer(each['wanted'])}, got {shown(got)}"


def _answer(answer: Mapping[str, Any]) -> str:
    effect = answer.get("effect") or answer["outcome"]
    return f"{effect} ({answer['reason']})" if answer["reason"] else str(effect)


def _replay(replay: Mapping[str, Any], hours: int) -> Iterator[str]:
    yield (
        f"Replay of {replay['rows']:,} requests of the last {hours} hours: {replay['changed']:,} would get another "
        f"answer, {replay['undecidable']['total']:,} are undecidable"
    )
    for each in replay["people"]:
        name = each["subject"]["name"] or f"{each['subject']['kind']} {each['subject']['id']}"
        yield _lost(name, each)
    yield from (_lost(f"somebody at {each['client_ip']}", each) for each in replay["anonymous"])
    if left_out := replay["unlisted"]["people"] + replay["unlisted"]["anonymous"]:
        yield f"  and {left_out:,} more"
    if replay["scope_missing"]:
        yield f"  (not listed: the API token does not have the scope {replay['scope_missing']})"


def _lost(who: str, each: Mapping[str, Any]) -> str:
    verb = "loses" if each["loses"] else "gains"
    place = f"{each['host'] or ''}{each['path']}"
    requests = "1 request" if each["count"] == 1 else f"{each['count']:,} requests"
    return f"  {shown(who)} {verb} {shown(place)} ({requests})"


def _value(value: Any) -> str:
    return shown(value) if isinstance(value, str) and value else shown(json.dumps(value, ensure_ascii=False))


def shown(text: Any) -> str:
    """Return a text in one line without characters that control a terminal."""
    plain = str(text)
    return plain if plain.isprintable() else json.dumps(plain)


def of_errors(errors: "list[Mapping[str, Any]]", file: str) -> Iterator[str]:
    """Yield a line for each fault of a document, as compilers do."""
    for each in errors:
        pointer = each["pointer"] or "/"
        yield f"{shown(file)}:{each['line']}:{each['column']}: {shown(pointer)}: {shown(each['message'])}"
