"""Arguments of ``gatewall policy``. Pure: used without Django if the command works over the API."""

import argparse

_URL = "work over the API: the address of Gatewall with its root path, like https://wall.example.com/wall"
_TOKEN_FILE = "with --url: a file with the API token; otherwise it is read from GATEWALL_API_TOKEN"
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
    for each in (export, schema, drift):
        each.add_argument("--url", metavar="URL", help=_URL)
        each.add_argument("--token-file", metavar="FILE", help=_TOKEN_FILE)
