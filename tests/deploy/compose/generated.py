"""Generated proxy files below deploy/compose, and the options of `gatewall proxy-config` that write them.

``python -m tests.deploy.compose.generated`` writes them.
"""

from dataclasses import replace

from gatewall.proxy_config.rendering import Place, render
from tests.deploy.dockerfile import BASE

FOLDER = BASE / "deploy" / "compose"
ONE_SERVICE = Place(
    auth="gatewall:9998",
    control="gatewall:9999",
    upstream="site:8000",
    guard_host="wall.example.com",
    resolver="127.0.0.11",
)
SPLIT_ROLES = replace(ONE_SERVICE, auth="data-plane:9998", control="control-plane:9999")


def rendered(kind: str, place: Place) -> dict[str, str]:
    """Return the text of each file of a proxy."""
    return {file.name: file.text for file in render(kind, place)}


def files() -> dict[str, str]:
    """Return what each generated file must be, by its path below deploy/compose."""
    return {
        "caddy/gatewall.caddy": rendered("caddy", ONE_SERVICE)["gatewall.caddy"],
        "traefik/gatewall.yml": rendered("traefik", replace(ONE_SERVICE, guard_host=""))["dynamic/gatewall.yml"],
        "nginx/site.conf": rendered("nginx", ONE_SERVICE)["site.conf.example"],
        "nginx/site.postgres.conf": rendered("nginx", SPLIT_ROLES)["site.conf.example"],
    }


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text)
