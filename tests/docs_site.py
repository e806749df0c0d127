"""Hooks of mkdocs (mkdocs.yml): navigation from docs/README.md, the repository's root pages."""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

BASE = Path(__file__).resolve().parents[1]
DOCS = BASE / "docs"
ROOT_PAGES = {f"{name}.md": f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY", "README.zh-CN")}
ROOT_PAGES["README.md"] = "about.md"
"""Pages of the repository's root, and their paths in the site; ``README.md`` there is docs/README.md."""
BOOSTS = {
    **dict.fromkeys(("how-to/", "providers/", "tutorial.md", "troubleshooting.md", "upgrade.md"), 3.0),
    "reference/reasons.md": 0.5,
    **dict.fromkeys(("contributing/", "webhooks.md", "operator.md"), 2.0),
    **dict.fromkeys(("backup.md", "install.md", "geo.md", "configuration.md", "CONTRIBUTING.md"), 2.0),
    **dict.fromkeys(("adr/", "CHANGELOG.md"), 0.1),
}
"""How much a hit of the search on such a page weighs: people search for what to do, seldom for why it is built so."""
_ROW = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```|(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL | re.MULTILINE)


def navigation() -> list[Any]:
    """Return the sections of docs/README.md with the pages that they link to, each page once."""
    seen = {"README.md"}
    found: list[Any] = [{"Overview": "README.md"}]
    for section in (DOCS / "README.md").read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        found.append({heading: _entries("README.md", text, seen)})
    return found


def _entries(page: str, text: str, seen: set[str]) -> list[Any]:
    """Return the pages that a text links to, without those seen; below the README of a folder, its other pages."""
    entries: list[Any] = []
    for title, target in _ROW.findall(text):
        path = _path(page, target)
        if not path.endswith(".md") or path in seen or (page != "README.md" and Path(path).parent != Path(page).parent):
            continue
        seen.add(path)
        name = title.strip("`").removesuffix(".md")
        within = _entries(path, (DOCS / path).read_text(), seen) if "/README" in path else []
        entries.append({name[:1].upper() + name[1:]: [path, *within] if within else path})
    return entries


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation."""
    config.nav = navigation()
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    for name, path in ROOT_PAGES.items():
        files.append(File.generated(config, path, abs_src_path=str(BASE / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: Any) -> str:
    """Let links lead to pages of the site; a link to another file of the repository becomes its name."""
    source = page.file.src_uri
    page.meta["search"] = {"boost": next((boost for start, boost in BOOSTS.items() if source.startswith(start)), 1.0)}
    spans = [found.span() for found in _CODE.finditer(markdown)]

    def of_the_site(found: re.Match[str]) -> str:
        if any(first <= found.start() < last for first, last in spans):
            return found[0]
        picture, words, target = found.groups()
        if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            return found[0]
        name, _, anchor = target.partition("#")
        path = _path(source, name)
        if files.get_file_from_path(path) is None:
            return words if picture or "`" in words else f"{words} (`{path.removeprefix('../')}`)"
        near = os.path.relpath(path, str(PurePosixPath(source).parent))
        return f"{picture}[{words}]({near}{'#' + anchor if anchor else ''})"

    return _LINK.sub(of_the_site, markdown)


def _path(source: str, name: str) -> str:
    """Return the path within the site that a link of a page means; a folder is its README."""
    folder = BASE if source in ROOT_PAGES.values() else (DOCS / source).parent
    path = Path(os.path.normpath(folder / name))
    if path.is_dir():
        path /= "README.md"
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    name = str(path.relative_to(BASE))
    return ROOT_PAGES.get(name, f"../{name}")


SHIM = "assets/worker.js"
_SHIM_OF_ANOTHER_HOST = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Take the script that lets the search work from files from the site, not from another host."""
    return output.replace(_SHIM_OF_ANOTHER_HOST, f"{'../' * page.file.dest_uri.count('/')}{SHIM}")


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same for the page of a missing page."""
    return output_content.replace(_SHIM_OF_ANOTHER_HOST, f"/{SHIM}")


def on_post_build(config: MkDocsConfig) -> None:
    """Write that script."""
    target = Path(config.site_dir) / SHIM
    target.write_text((BASE / "tests" / "docs_site_worker.js").read_text())
