"""Draw the folders and their imports into docs/architecture.md: `python -m tests.import_graph`.

The table has the first line of each folder's docstring. The picture is a Mermaid flowchart of folders: an arrow means
"imports"; an import that also follows from other arrows is left out (transitive reduction).
"""

import ast
import re
from pathlib import Path

import grimp

BASE = Path(__file__).resolve().parents[1]
PAGE = BASE / "docs" / "architecture.md"
APPS = ("accounts", "audit", "licensing", "policies", "webhooks")
_TABLE = re.compile(r"(?<=\| Folder \| What it holds \|\n\|---\|---\|\n).*?(?=\n\n)", re.DOTALL)
_PICTURE = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)


def folders() -> list[str]:
    """Return the parts that are drawn: the folders of ``gatewall`` and the apps."""
    inside = sorted(path.parent.name for path in (BASE / "gatewall").glob("*/__init__.py"))
    return [f"gatewall.{name}" for name in inside if name != "migrations"] + list(APPS)


def imports() -> dict[str, set[str]]:
    """Return for each part those that it imports. Loose modules of ``gatewall`` that only start things are left out."""
    graph = grimp.build_graph("gatewall", *APPS, exclude_type_checking_imports=True)
    parts = folders()
    for part in parts:
        graph.squash_module(part)
    return {part: set(graph.find_modules_directly_imported_by(part)) & set(parts) - {part} for part in parts}


def reduced(direct: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the transitive reduction of an acyclic graph."""
    below: dict[str, set[str]] = {}

    def all_below(part: str) -> set[str]:
        if part not in below:
            below[part] = direct[part].union(*(all_below(other) for other in direct[part]))
        return below[part]

    return {part: {to for to in tos if not any(to in all_below(via) for via in tos)} for part, tos in direct.items()}


def picture() -> str:
    """Return the flowchart as Mermaid text."""
    arrows = [f"    {part} --> {to}\n" for part, tos in sorted(reduced(imports()).items()) for to in sorted(tos)]
    return "flowchart TD\n" + "".join(arrows).replace("gatewall.", "")


def table() -> str:
    """Return the rows of the table: every folder with modules, and the first line of its docstring."""
    found = sorted(
        path.parent
        for top in ("gatewall", *APPS)
        for path in (BASE / top).rglob("__init__.py")
        if path.parent.name not in {"migrations", "commands", "gatewall", "templatetags"}
    )
    return "\n".join(f"| `{folder.relative_to(BASE)}/` | {_first_line(folder)} |" for folder in found)


def _first_line(folder: Path) -> str:
    return (ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or "").partition("\n")[0]


def drawn() -> str:
    """Return the page with the table and the picture of the current code."""
    return _PICTURE.sub(lambda _: picture(), _TABLE.sub(lambda _: table(), PAGE.read_text(), count=1), count=1)


if __name__ == "__main__":
    PAGE.write_text(drawn())
