"""Examine the proxy in front of a site: what reaches the gate, and what visitors can forge."""

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gatewall.doctor.examination import examine
from gatewall.doctor.probing.findings import Verdict
from gatewall.doctor.probing.sending import Way
from gatewall.doctor.report import report
from gatewall.engine.hosts import Authority
from gatewall.kernel.refusals import Refusal
from gatewall.proxy_config.rendering import KINDS

_MARKS = {"wrong": "WRONG", "unknown": "?", "ok": "ok", "not-applicable": "-"}


class Command(BaseCommand):
    help = (
        "Sends requests to a protected site through its proxy, and says what of them the gate was told. "
        "Ends with 1 if something is wrong, with 2 if nothing could be said."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("url", help="a protected site as visitors know it, like https://app.example.com/")
        parser.add_argument("--proxy", choices=list(KINDS), help="shows the lines of this proxy's sample")
        parser.add_argument("--connect", type=_place, metavar="ADDRESS:PORT", help="go there instead of by the name")
        parser.add_argument(
            "--upstream",
            default="",
            metavar="ADDRESS:PORT",
            help="where the site listens, to ask it around the proxy",
        )
        parser.add_argument("--self-signed", action="store_true", help="accept a certificate that nobody vouches for")
        parser.add_argument("--json", action="store_true", help="the answer of POST /system/doctor")

    def handle(self, *args: Any, **options: Any) -> None:
        address, port = options["connect"] or (None, None)
        way = Way(address, port, options["self_signed"])
        try:
            found = report(examine(options["url"], kind=options["proxy"], way=way, upstream=options["upstream"]))
        except Refusal as refusal:
            raise CommandError(str(refusal), returncode=2) from None
        self.stdout.write(json.dumps(found, indent=2) if options["json"] else "\n".join(_lines(found)))
        if found["verdict"] == Verdict.WRONG:
            raise CommandError("something is wrong with the proxy", returncode=1)
        if found["checks"][0]["verdict"] != Verdict.OK:
            raise CommandError("nothing can be said of the proxy", returncode=2)


def _place(text: str) -> tuple[str, int]:
    authority = Authority.parse(text)
    if authority is None or not authority.port:
        raise ArgumentTypeError("a place is ADDRESS:PORT")
    return authority.host.name.strip("[]"), authority.port


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for check in found["checks"]:
        yield f"{_MARKS[check['verdict']]:<6} {check['title']}"
        for finding in check["findings"]:
            yield f"       {_MARKS[finding['verdict']]}: {_printable(finding['words'])}"
        if check["fix"] and check["verdict"] == Verdict.WRONG:
            yield f"       -> {check['fix']['words']} ({check['fix']['documentation']})"
            for snippet in check["fix"]["snippets"]:
                yield f"          {snippet['file']}:"
                yield from (f"          | {line}".rstrip() for line in snippet["text"].splitlines())


def _printable(text: str) -> str:
    """Escape untrusted text for a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
