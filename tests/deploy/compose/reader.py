"""Read a Compose file as Docker does: variables filled in from `.env`, services with the fields that tests need."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\})")


@dataclass(frozen=True)
class Mount:
    """A mount in a container: a path of this machine, a named volume, a text, or else a temporary folder."""

    target: str
    source: Path | None = None
    name: str = ""
    content: str = ""
    options: str = ""
    read_only: bool = False


@dataclass(frozen=True)
class Service:
    """A service of a Compose file."""

    name: str
    image: str
    command: list[str] | None
    entrypoint: list[str] | None
    user: str
    hostname: str
    environment: dict[str, str]
    networks: list[str]
    mounts: list[Mount]
    cap_add: list[str] = field(default_factory=list)
    sysctls: dict[str, str] = field(default_factory=dict)
    read_only: bool = False
    depends_on: dict[str, str] = field(default_factory=dict)
    health: list[str] | None = None
    """The command of its own health check; none to disable that of the image, None for that of the image."""
    ports: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with `${NAME}`, `${NAME:-default}`, `${NAME:?error}` and `$$` replaced. Raises KeyError."""

    def value(found: re.Match[str]) -> str:
        dollar, name, how, words = found.groups()
        if dollar:
            return "$"
        given = variables.get(name, "")
        if not given and how == ":?":
            raise KeyError(f"{name}: {words}")
        return given or (words or "" if how == ":-" else "")

    return _VARIABLE.sub(value, text)


def read(file: Path, variables: Mapping[str, str]) -> tuple[dict[str, Service], dict[str, Any]]:
    """Return the services of a Compose file, and its networks."""
    document = _filled_everywhere(yaml.safe_load(file.read_text()), variables)
    services = {name: _service(name, each, document, file.parent) for name, each in document["services"].items()}
    return services, document.get("networks") or {"default": {}}


def _filled_everywhere(value: Any, variables: Mapping[str, str]) -> Any:
    """Fill the variables in after YAML is parsed, so that their values are text."""
    if isinstance(value, dict):
        return {key: _filled_everywhere(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled_everywhere(each, variables) for each in value]
    return filled(value, variables) if isinstance(value, str) else value


def _service(name: str, given: Mapping[str, Any], document: Mapping[str, Any], folder: Path) -> Service:
    health = given.get("healthcheck", {})
    needs = given.get("depends_on", {})
    return Service(
        name=name,
        image=given["image"],
        command=given.get("command"),
        entrypoint=given.get("entrypoint"),
        user=given.get("user", "0:0"),
        hostname=given.get("hostname", name),
        environment={key: str(value) for key, value in (given.get("environment") or {}).items()},
        networks=list(given.get("networks") or ["default"]),
        mounts=[*_volumes(given, folder), *_temporary(given), *_secrets(given, document, folder)],
        cap_add=given.get("cap_add", []),
        sysctls={key: str(value) for key, value in given.get("sysctls", {}).items()},
        read_only=given.get("read_only", False),
        depends_on={other: how["condition"] for other, how in needs.items()},
        health=[] if health.get("disable") else health["test"][1:] if health else None,
        ports=given.get("ports", []),
        labels=given.get("labels", {}),
    )


def _volumes(given: Mapping[str, Any], folder: Path) -> list[Mount]:
    found = []
    for text in given.get("volumes", []):
        source, target, *options = text.split(":")
        if source.startswith((".", "/")):
            found.append(Mount(target, source=(folder / source).resolve(), read_only=options == ["ro"]))
        else:
            found.append(Mount(target, name=source, read_only=options == ["ro"]))
    return found


def _temporary(given: Mapping[str, Any]) -> list[Mount]:
    pairs = [text.partition(":") for text in given.get("tmpfs", [])]
    return [Mount(target, options=options or "mode=1777") for target, _, options in pairs]


def _secrets(given: Mapping[str, Any], document: Mapping[str, Any], folder: Path) -> list[Mount]:
    secrets = [
        Mount(f"/run/secrets/{name}", source=folder / document["secrets"][name]["file"], read_only=True)
        for name in given.get("secrets", [])
    ]
    texts = {name: each["content"] for name, each in document.get("configs", {}).items()}
    return [*secrets, *(Mount(use["target"], content=texts[use["source"]]) for use in given.get("configs", []))]
