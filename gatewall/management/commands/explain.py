"""Explain the gate's decision on a hypothetical request."""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gatewall.credentials.machine import APP_TOKEN_PREFIX, GIT_TOKEN_PREFIX, LICENSE_PREFIX
from gatewall.whatif.explain_request import explain
from gatewall.whatif.explain_view import ExplainInput

_MAX_TOKEN = 8192


class Command(BaseCommand):
    help = "Says what /auth would answer to a made-up request, and why. Nothing is counted, recorded or changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--client-ip", required=True, help="the visitor's address, or all of X-Forwarded-For")
        parser.add_argument("--host", required=True)
        parser.add_argument("--uri", required=True, help="path and query, as sent")
        parser.add_argument("--method", default="GET")
        parser.add_argument("--scheme", help="http or https; not told where left out")
        parser.add_argument("--header", action="append", default=[], type=_header, metavar="'NAME: VALUE'")
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--user", help="as if this user were signed in; no token is needed")
        who.add_argument("--license", help="as if the license of this name were sent")
        who.add_argument("--token-file", help="file (or -) with a session, app or license token, or username:git-token")
        parser.add_argument("--amr", default="pwd", help="with --user: how they signed in, like pwd,otp")
        parser.add_argument("--json", action="store_true", help="the answer of POST /policy/explain")

    def handle(self, *args: Any, **options: Any) -> None:
        body = {name: options[name] for name in ("client_ip", "host", "uri", "method")}
        if options["scheme"] is not None:
            body["scheme"] = options["scheme"]
        headers: dict[str, list[str]] = {}
        for name, value in options["header"]:
            headers.setdefault(name, []).append(value)
        form = ExplainInput(data={**body, "headers": headers, "credential": _credential(options)})
        if not form.is_valid():
            raise CommandError("; ".join(_words(form.errors)), returncode=2)
        explanation = explain(form.made_up())
        self.stdout.write(json.dumps(explanation, indent=2) if options["json"] else "\n".join(_table(explanation)))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ArgumentTypeError("a header is NAME: VALUE")
    return name.strip(), value.strip()


def _credential(options: Mapping[str, Any]) -> dict[str, Any] | None:
    if options["user"] is not None:
        return {"kind": "user", "name": options["user"], "amr": options["amr"].split(",")}
    if options["license"] is not None:
        return {"kind": "license", "name": options["license"]}
    if options["token_file"] is None:
        return None
    token = _token(options["token_file"])
    if token.startswith(LICENSE_PREFIX):
        return {"kind": "license", "token": token}
    if token.startswith(APP_TOKEN_PREFIX):
        return {"kind": "app-token", "token": token}
    return {"kind": "git-token" if f":{GIT_TOKEN_PREFIX}" in token else "session", "token": token}


def _token(name: str) -> str:
    """Return the token in the file. Raises CommandError, whose message does not contain the token."""
    try:
        if name == "-":
            return sys.stdin.read(_MAX_TOKEN).strip()
        with Path(name).open(encoding="utf-8") as file:
            return file.read(_MAX_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the token file {name!r} cannot be read ({type(error).__name__})", returncode=2) from None


def _words(errors: Any, field: str = "") -> Iterator[str]:
    """Yield the message of each error with its field, without the input."""
    if isinstance(errors, Mapping):
        for name, inner in errors.items():
            yield from _words(inner, "" if name == "non_field_errors" else str(name))
    elif isinstance(errors, list):
        for inner in errors:
            yield from _words(inner, field)
    else:
        yield f"{field}: {errors}" if field else str(errors)


def _table(explanation: Mapping[str, Any]) -> Iterator[str]:
    decision, subject = explanation["decision"], explanation["subject"]
    yield f"{decision['status']} {decision['reason']} ({decision['outcome']})"
    if explanation["fault"]:
        yield f"malformed: {explanation['fault']}"
    yield ", ".join(
        [
            f"client {explanation['client_ip']}",
            f"country {explanation['country_code'] or 'not known'}",
            f"domain {explanation['domain'] or 'none'}",
            f"subject {subject['kind']} {subject['id']} {subject['name']}".rstrip() if subject else "no subject",
            f"revision {explanation['policy_revision']}",
        ]
    )
    if grant := decision["grant"]:
        yield f"let in by {grant['kind']} {grant['id']}"
    if scope := explanation["scope"]:
        through = [name for name in ("admin", "own") if scope[name]] + [f"group {name}" for name in scope["groups"]]
        yield f"the scope covers it: {', '.join(through) or 'no'}"
    for each in explanation["claimed_groups"]:
        yield f"group {each['group']}: {each['claim']} of {each['provider']} has {each['value']}"
    yield ""
    yield f"{'#':>2}  {'step':<32}{'says':<13}{'reason':<29}because of"
    for number, step in enumerate(explanation["trace"], 1):
        yield f"{number:>2}  {step['step']:<32}{step['outcome'] or 'not asked':<13}{_rest(step)}".rstrip()


def _rest(step: Mapping[str, Any]) -> str:
    row = step["decided_by"]
    because = f"{row['kind']} {row['id']}" if row else ""
    rules = ", ".join(f"{rule['name']} ({rule['action']})" for rule in step["rules"])
    mark = "  <- decides" if step["decided"] else "" if step["reached"] else "  (not reached)"
    return f"{step['reason'] or '':<29}{' '.join(part for part in (because, rules) if part)}{mark}"
