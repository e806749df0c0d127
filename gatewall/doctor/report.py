"""JSON report of an examination, for the API, the command and the page."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from gatewall.doctor import finding_texts
from gatewall.doctor.probing.evidence import Arrival, Evidence, Reply, Seen
from gatewall.doctor.probing.findings import Finding, Result, Verdict, worst
from gatewall.doctor.probing.judging import judge
from gatewall.doctor.probing.snippets import snippets
from gatewall.proxy_config.rendering import DEFAULT, Place

_NEEDS_A_FIX = frozenset({Verdict.WRONG, Verdict.UNKNOWN})
_MAX_SHOWN = 300


def report(evidence: Evidence) -> dict[str, Any]:
    """Return the report of an examination."""
    results = judge(evidence)
    return {
        "url": str(evidence.target),
        "proxy": evidence.kind,
        "verdict": worst([result.verdict for result in results]).value,
        "untrusted_peers": list(evidence.untrusted),
        "checks": [_check(result, evidence) for result in results],
        "probes": [_probe(seen) for seen in evidence.seen.values()],
    }


def place_of(host: str) -> Place:
    """Return the values to fill into sample configurations for this host."""
    bound = settings.GATEWALL_BIND
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(bound, f"[{bound}]" if ":" in bound else bound)  # noqa: S104 - compared
    socket = settings.GATEWALL_AUTH_SOCKET
    auth = f"unix:{socket}" if socket is not None else f"{here}:{settings.GATEWALL_AUTH_PORT}"
    return Place(auth, f"{here}:{settings.GATEWALL_PORT}", settings.ROOT_PATH, host)


def own_host() -> str:
    """Return the host of our own pages, or the samples' default."""
    return (urlsplit(settings.GATEWALL_PUBLIC_URL or "").hostname) or DEFAULT.host


def _check(result: Result, evidence: Evidence) -> dict[str, Any]:
    return {
        "id": result.check,
        "title": str(finding_texts.TITLES[result.check]),
        "verdict": result.verdict.value,
        "why": str(finding_texts.WHY[result.check]),
        "findings": [_finding(finding, evidence) for finding in result.findings],
        "fix": _fix(result, evidence) if _is_to_be_fixed(result, evidence) else None,
    }


def _is_to_be_fixed(result: Result, evidence: Evidence) -> bool:
    """Return whether the check needs a fix; False if nothing reached the gate."""
    examined = evidence.plain.arrival is not None or result.check == "asked"
    return examined and (result.verdict in _NEEDS_A_FIX or result.check == "identity")


def _fix(result: Result, evidence: Evidence) -> dict[str, Any]:
    kind, place = evidence.kind, place_of(evidence.target.host.name)
    found = snippets(kind, result.check, place) if kind else []
    return {
        "words": str(finding_texts.FIXES[result.check]),
        "snippets": [{"file": snippet.file, "text": snippet.text} for snippet in found],
        "documentation": f"docs/proxies/{kind or 'README'}.md",
    }


def _finding(finding: Finding, evidence: Evidence) -> dict[str, Any]:
    seen = evidence.seen.get(finding.probe)
    return {
        "code": finding.code,
        "verdict": finding.verdict.value,
        "probe": finding.probe or None,
        "sent": _line(seen) if seen else None,
        "words": finding_texts.meaning(finding),
    }


def _line(seen: Seen) -> str:
    """Return a probe as one line: method, URI, place if it went around the proxy, and added headers."""
    headers = "; ".join(f"{name}: {value}" for name, value in seen.probe.headers)
    at = f" at {seen.probe.at}" if seen.probe.at else ""
    return f"{seen.probe.method} {seen.probe.uri}{at}" + (f" ({headers})" if headers else "")


def _probe(seen: Seen) -> dict[str, Any]:
    return {
        "name": seen.probe.name,
        "method": seen.probe.method,
        "uri": seen.probe.uri,
        "at": seen.probe.at or None,
        "headers": [{"name": name, "value": value} for name, value in seen.probe.headers],
        "answer": _answer(seen.reply),
        "recorded": _recorded(seen.arrival) if seen.arrival else None,
    }


def _answer(reply: Reply) -> dict[str, Any]:
    headers = [{"name": name, "value": value[:_MAX_SHOWN]} for name, value in reply.headers.items()]
    return {"status": reply.status, "failure": reply.failure, "from_address": reply.from_address, "headers": headers}


def _recorded(arrival: Arrival) -> dict[str, Any]:
    names = ("decision_id", "client", "host", "method", "scheme", "path", "query", "status", "reason")
    return {name: getattr(arrival, name) for name in names} | {"visible": sorted(arrival.visible)}
