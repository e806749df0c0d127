"""Run an action of ``gatewall policy``, and print its outcome. Pure."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gatewall.management.policy import words
from gatewall.management.policy.arguments import add_arguments
from gatewall.management.policy.outcome import Backend, Exit, Failure, Json, Writer
from gatewall.management.policy.remote import Remote, token_of
from policies.document.limits import MAX_BYTES, Unreadable, require_size


def run_remotely(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run over the API; return the exit code."""
    parser = argparse.ArgumentParser("gatewall policy", allow_abbrev=False)
    add_arguments(parser)
    options = vars(parser.parse_args(arguments))
    return run(options, lambda: Remote(options["url"], token_of(options["token_file"], environment)))


def run(
    options: Mapping[str, Any],
    backend: Callable[[], Backend],
    out: Writer | None = None,
    err: Writer | None = None,
) -> int:
    """Run the action of these options; return the exit code."""
    out, err = out or sys.stdout, err or sys.stderr
    try:
        return _ACTIONS[options["action"]](options, backend(), out)
    except Failure as failure:
        message = f"gatewall policy: {words.shown(failure.message)}"
        _print(err, words.of_errors([*failure.errors], str(options.get("file"))) if failure.errors else [message])
        return failure.code


def _export(options: Mapping[str, Any], backend: Backend, out: Writer) -> int:
    out.write(backend.export(options["revision"]))
    return Exit.DONE


def _schema(options: Mapping[str, Any], backend: Backend, out: Writer) -> int:
    _print_json(out, backend.schema())
    return Exit.DONE


def _drift(options: Mapping[str, Any], backend: Backend, out: Writer) -> int:
    answer = backend.compare(_document(options["file"]))
    changes = answer["changes"]
    if options["json"]:
        _print_json(out, answer)
    elif changes:
        _print(out, words.of_changes(changes))
        out.write(f"Applying the document would make {_number(changes)} to revision {answer['revision']}.\n")
    else:
        out.write(f"No drift: revision {answer['revision']} is what the document says.\n")
    return Exit.CHANGES if changes else Exit.DONE


def _plan(options: Mapping[str, Any], backend: Backend, out: Writer) -> int:
    hours = options["window_hours"]
    answer = backend.plan(_document(options["file"]), hours=hours, replay=not options["no_replay"])
    if options["json"]:
        _print_json(out, answer)
    else:
        _print(out, words.of_plan(answer, hours))
    if answer["state"] == "failed" or (answer["replay"] is None and not options["no_replay"]):
        raise Failure(Exit.CANNOT_RUN, f"the replay failed: {answer['failure']}")
    if not all(each["passed"] for each in answer["expectations"]):
        return Exit.REFUSED
    return Exit.CHANGES if answer["counts"] else Exit.DONE


def _apply(options: Mapping[str, Any], backend: Backend, out: Writer) -> int:
    answer = backend.apply(_document(options["file"]), options)
    if options["json"]:
        _print_json(out, answer)
    elif answer["revision"] is None:
        out.write("Nothing to do: the policy is what the document says.\n")
    else:
        _print(out, (f"{each['resource']}: {each['count']:,} {each['action']}" for each in answer["counts"]))
        out.write(f"Applied as revision {answer['revision']}.\n")
        if options["confirm_within"]:
            out.write(f"It is reverted in {options['confirm_within']} seconds unless you confirm it.\n")
    return Exit.DONE


def _number(changes: "list[Any]") -> str:
    return "1 change" if len(changes) == 1 else f"{len(changes):,} changes"


def _document(name: str) -> str:
    """Return the text of a document. Raises Failure."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Failure(Exit.CANNOT_RUN, f"{name} cannot be read ({error.strerror})") from None
    try:
        require_size(data)
    except Unreadable as refused:
        fault = {
            "line": refused.line,
            "column": refused.column,
            "pointer": refused.pointer,
            "message": str(refused.message),
        }
        raise Failure(Exit.REFUSED, str(refused.message), [fault]) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(Exit.REFUSED, f"{name} is not UTF-8") from None


def _print(out: Writer, lines: Iterable[str]) -> None:
    out.write("".join(f"{line}\n" for line in lines))


def _print_json(out: Writer, values: Json) -> None:
    out.write(json.dumps(values, indent=2) + "\n")


_ACTIONS: Mapping[str, Callable[[Mapping[str, Any], Backend, Writer], int]] = {
    "export": _export,
    "schema": _schema,
    "drift": _drift,
    "plan": _plan,
    "apply": _apply,
}
