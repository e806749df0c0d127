"""Policy documents and plans for the tests."""

from typing import Any

from policies.document.writing import yaml_of
from tests.support.cast import OFFICE

CLOSED = f"version: 1\ndomains:\n- name: {OFFICE}\n  access: denied\n"
DOMAIN = {"resource": "authorized-domains", "values": {"name": "new.example"}}


def expect(*wanted: tuple[str, dict[str, Any], str, str]) -> str:
    """Return the section ``expect`` of a document; a request is given by its differences from a plain one."""
    entries = [
        {
            "name": name,
            "request": {"client": "198.51.100.7", "host": OFFICE, **request},
            "effect": effect,
            **({"reason": reason} if reason else {}),
        }
        for name, request, effect, reason in wanted
    ]
    return yaml_of({"expect": entries})


def plan(caller, document, **more):
    return caller.post("/policy/plan", {"document": document, **more})


def planned(caller, document, **more):
    made = plan(caller, document, **more)
    assert made.status_code == 201, made.json()
    return made.json()
