"""Proposals in words, for the pages of backtests."""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from gatewall.console.backtest.proposal_forms import PROPOSAL_FORMS
from gatewall.policy.resources import Write
from gatewall.publication.resources import title_of
from gatewall.whatif.backtest.drafts import Draft
from gatewall.whatif.backtest.proposals import Changes, Proposal, Restore, WholeDocument

_CHANGES = {Write.CREATE: _("create"), Write.UPDATE: _("update"), Write.DELETE: _("delete")}
_NAMES = ("name", "ip", "country_code")
"""Fields that name a row."""


def in_words(proposal: Proposal) -> dict[str, Any]:
    """Return the title, the subject, the kind of change, the values, and the parts of a list of changes."""
    match proposal:
        case Draft():
            return _draft_in_words(proposal)
        case Changes():
            number = len(proposal.drafts)
            title = ngettext("%(number)s change", "%(number)s changes", number) % {"number": number}
            parts = [_draft_in_words(each) for each in proposal.drafts]
            return {"title": title, "about": _subjects(parts), "change": "", "values": [], "parts": parts}
        case WholeDocument():
            about = ", ".join(proposal.sections)
            return {"title": _("Policy document"), "about": about, "change": "", "values": [], "parts": []}
        case Restore():
            title = _("Restore of revision %(number)s") % {"number": proposal.revision}
            return {"title": title, "about": "", "change": "", "values": [], "parts": []}


def _draft_in_words(draft: Draft) -> dict[str, Any]:
    return {
        "title": _title(draft.resource),
        "about": _about(draft.values) or (f"#{draft.id}" if draft.id else ""),
        "change": _CHANGES[draft.change],
        "values": [(name, _plain(value)) for name, value in sorted(draft.values.items())],
        "parts": [],
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON text, but a text or a number unchanged."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, tuple, dict, bool)) else value


def _title(resource: str) -> str | Promise:
    form = PROPOSAL_FORMS.get(resource)
    return form.title if form else title_of(resource)


def _about(values: Mapping[str, Any]) -> str:
    return str(next((values[name] for name in _NAMES if name in values), ""))


def _subjects(parts: list[dict[str, Any]]) -> str:
    """Return the subjects of the first changes."""
    named = [f"{each['title']} {each['about']}".strip() for each in parts[:3]]
    return ", ".join([*named, *(["…"] if len(parts) > len(named) else [])])
