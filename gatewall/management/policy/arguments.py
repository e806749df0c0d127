"""Arguments of ``gatewall policy``. Pure: usable without Django if the command works over the API."""

import argparse

_URL = "work over the API: the address of Gatewall with its root path, like https://wall.example.com/wall"
_TOKEN_FILE = "with --url: a file with the API token; otherwise it is read from GATEWALL_API_TOKEN"
MAX_UNDO_MINUTES, MAX_CONFIRM_SECONDS, MAX_DIGITS = 1440, 3600, 7
_FILE = "a policy document, or - for standard input"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True)
    export = actions.add_parser("export", help="print the policy as a document")
    export.add_argument("--revision", type=int, metavar="N", help="as it was after this revision")
    schema = actions.add_parser("schema", help="print the JSON Schema of documents")
    drift = actions.add_parser("drift", help="say how the policy in force differs from a document; ends with 3 if so")
    drift.add_argument("file", metavar="FILE", help=_FILE)
    drift.add_argument("--json", action="store_true", help="print the answer of the API")
    plan = actions.add_parser("plan", help="say what applying a document would do; ends with 3 if anything")
    plan.add_argument("--window-hours", type=int, default=24, metavar="N", help="replay the last N hours (24)")
    plan.add_argument("--no-replay", action="store_true", help="do not wait for the replay of recorded requests")
    plan.add_argument("file", metavar="FILE", help=_FILE)
    plan.add_argument("--json", action="store_true", help="print the answer of the API")
    apply = actions.add_parser("apply", help="make the policy what a document says, in one revision")
    apply.add_argument("file", metavar="FILE", help=_FILE)
    apply.add_argument("--if-revision", type=int, metavar="N", help="only if the policy has not moved on since")
    apply.add_argument(
        "--confirm-within", type=_seconds, default=0, metavar="SECONDS", help="revert it unless confirmed"
    )
    apply.add_argument(
        "--undo-if-refused", type=_people_and_minutes, metavar="PEOPLE/MINUTES", help="revert it if it refuses more"
    )
    apply.add_argument("--force", action="store_true", help="also WAF rules and networks that match nearly everything")
    apply.add_argument("--json", action="store_true", help="print the revision as JSON")
    for each in (export, schema, drift, plan, apply):
        each.add_argument("--url", metavar="URL", help=_URL)
        each.add_argument("--token-file", metavar="FILE", help=_TOKEN_FILE)


def _people_and_minutes(text: str) -> tuple[int, int]:
    people, slash, minutes = text.partition("/")
    if not (slash and people.isascii() and people.isdigit() and minutes.isascii() and minutes.isdigit()):
        raise argparse.ArgumentTypeError("write PEOPLE/MINUTES, like 3/10")
    if not (len(people) < MAX_DIGITS and 1 <= int(minutes[:MAX_DIGITS]) <= MAX_UNDO_MINUTES):
        raise argparse.ArgumentTypeError(f"at most {MAX_UNDO_MINUTES} minutes")
    return int(people), int(minutes)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 5 <= int(text[:MAX_DIGITS]) <= MAX_CONFIRM_SECONDS):
        raise argparse.ArgumentTypeError(f"5 to {MAX_CONFIRM_SECONDS} seconds")
    return int(text)
