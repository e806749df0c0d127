"""The files of proxies below deploy/compose: which of them `gatewall proxy-config` writes, with which options.

``python -m tests.deploy.compose.generated`` writes them.
"""

from gatewall.proxy_config.rendering import Place, render
from tests.deploy.dockerfile import BASE

FOLDER = BASE / "deploy" / "compose"
ONE_SERVICE = Place("gatewall:9998", "gatewall:9999", "/wall", "app.example.com", "site:8000", "wall.example.com")


def rendered(kind: str, place: Place) -> dict[str, str]:
    """Return the text of each file of a proxy."""
    return {file.name: file.text for file in render(kind, place)}


def files() -> dict[str, str]:
    """Return what each generated file must be, by its path below deploy/compose."""
    return {"caddy/gatewall.caddy": rendered("caddy", ONE_SERVICE)["gatewall.caddy"]}


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text)
