"""Results of backtests and plans on a page: state, errors, changes of access, and tables."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions

from gatewall.api.translation import messages_of
from gatewall.console.explain.presentation import ASSUMED, MISSING, OUTCOMES
from gatewall.console.site import links
from gatewall.engine.model import SubjectKind
from gatewall.kernel.refusals import Refusal
from gatewall.models import Node
from gatewall.publication.resources import title_of
from gatewall.whatif.backtest.models import State

REFRESH_SECONDS = 2
"""Seconds after which a page of an unfinished run reloads itself."""
_AGENT_SILENT = timedelta(seconds=15)
STATES = {
    State.QUEUED.value: _("queued"),
    State.RUNNING.value: _("running"),
    State.FINISHED.value: _("finished"),
    State.FAILED.value: _("failed"),
}
_TABLES = (
    ("people", _("People who would lose access")),
    ("changes", _("Changed answers")),
    ("hosts", _("Hosts")),
    ("subjects", _("Users, git tokens and licenses")),
    ("clients", _("Clients")),
)


def has_agent() -> bool:
    """Return whether an agent runs, which is needed to run queued backtests."""
    return Node.objects.filter(seen_at__gte=timezone.now() - _AGENT_SILENT).exists()


def gaps_shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return in words what the records lack, and what was assumed from them, with the numbers of requests."""
    return {
        "missing": _counted(MISSING, result["undecidable"]["missing"]),
        "assumed": _counted(ASSUMED, result["assumed"]),
    }


def _counted(words: Mapping[str, Any], counts: Mapping[str, int]) -> list[tuple[Any, int]]:
    """Return counts by words, the largest first."""
    found = [(words.get(name, name), number) for name, number in counts.items()]
    return sorted(found, key=lambda each: -each[1])


def access_shown(result: dict[str, Any]) -> dict[str, Any]:
    """Return the people, hosts and clients that would lose or gain access; empty for a result of an earlier release."""
    return {
        kind: {
            **found,
            "rows": [{**row, **_sentence(row)} for row in found["results"]],
            "left_out": max(0, found["number"] - len(found["results"])),
        }
        for kind, found in result.get("access", {}).items()
    }


def _sentence(row: dict[str, Any]) -> dict[str, Any]:
    subject = row.get("subject")
    who = f"{subject['name'] or subject['id']}" if subject else row.get("client_ip", "")
    if subject and subject["kind"] != SubjectKind.USER:
        who = f"{who} ({title_of(subject['kind'])})"
    return {
        "who": who,
        "place": f"{row['host'] or '-'}{row.get('path', '')}",
        **_answers(row),
        "last": datetime.fromisoformat(row["last_at"]),
        "links": _links(row),
    }


def _links(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each, links.explain(each)) for each in row["examples"]]


def tables_shown(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tables of a result, with the labels and links of their rows."""
    for name, title in _TABLES:
        rows = [{**row, **_labels(row)} for row in result[name]["results"]]
        yield {**result[name], "name": name, "title": title, "rows": rows}


def _labels(row: dict[str, Any]) -> dict[str, Any]:
    which = row.get("host") or row.get("client_ip") or "-"
    if "kind" in row:
        which = f"{row['name'] or row['id']} ({title_of(row['kind'])})"
    return {"which": which, **_answers(row), "links": _links(row)}


def _answers(row: dict[str, Any]) -> dict[str, Any]:
    """Return the answers without and with the change, with their outcomes in words; None for a row without answers."""
    return {"today": _answer(row.get("from")), "to": _answer(row.get("to"))}


def _answer(answer: dict[str, str] | None) -> dict[str, Any] | None:
    return answer and {**answer, "outcome": OUTCOMES.get(answer["outcome"], answer["outcome"])}


def refusal_messages(error: Refusal | ValidationError | exceptions.ValidationError) -> list[str]:
    """Return why a proposal is refused, in the active language."""
    if isinstance(error, exceptions.ValidationError):
        return [" ".join(_words_of(error.detail))]
    return messages_of(error)


def _words_of(detail: Any) -> Iterator[str]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield f"{name}:"
            yield from _words_of(inner)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _words_of(inner)
    else:
        yield str(detail)
