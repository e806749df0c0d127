"""Redact a replay for callers who may not read the access log: leave out names, hosts and addresses.

An API token without ``logs:read`` gets the counts of a plan or backtest, but none of the rows behind them.
"""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from gatewall.api.scopes import Scope, lacks_scope

_ROWS = ("people", "hosts", "subjects", "clients")


def missing_log_scope(request: Request | None) -> str | None:
    """Return the scope that the caller's API token lacks to read the access log; None for a session or the host."""
    return Scope.LOGS_READ.value if request is not None and lacks_scope(request, Scope.LOGS_READ) else None


def for_caller(result: Mapping[str, Any], scope_missing: str | None) -> dict[str, Any]:
    """Return the result of a backtest, without the rows of its lists and examples if a scope is missing."""
    if scope_missing is None:
        return {**result, "scope_missing": None}
    access = {name: _without_rows(each) for name, each in result.get("access", {}).items()}
    changes = [{**each, "examples": []} for each in result["changes"]["results"]]
    return {
        **result,
        **({"access": access} if access else {}),
        **{name: _without_rows(result[name]) for name in _ROWS},
        "changes": {**result["changes"], "results": changes},
        "scope_missing": scope_missing,
    }


def _without_rows(hitters: Mapping[str, Any]) -> dict[str, Any]:
    return {**hitters, "results": []}
