"""One host or several, each with its own state, planes and agent; several share a PostgreSQL, behind a proxy each."""

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.mmdb import write_mmdb
from tests.nemesis.api import Api
from tests.nemesis.chaos import ChaosProxy
from tests.nemesis.history import History
from tests.nemesis.ledger import Ledger, clean
from tests.nemesis.oracle import COUNTRIES
from tests.nemesis.town import Town
from tests.nemesis.visitors import Door, TownVisitors
from tests.patterns import put_compiled
from tests.postgres import Server, server
from tests.processes import configuration, set_up
from tests.trail.account import Trail
from tests.trail.faults import Scene
from tests.trail.stage import Stage


@dataclass(frozen=True)
class Host:
    """A host, what is done to it, and the network before its store."""

    name: str
    scene: Scene
    proxy: ChaosProxy | None = None

    @property
    def stage(self) -> Stage:
        return self.scene.stage


@dataclass(frozen=True)
class Play:
    """Hosts with a town, its visitors, and the history of both."""

    hosts: Sequence[Host]
    history: History
    ledger: Ledger
    api: Api
    town: Town
    visitors: TownVisitors
    choice: random.Random
    server: Server | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def a_host(self) -> Host:
        """One of them."""
        return self.choice.choice(self.hosts)


@contextmanager
def play(home: Path, *, seed: int, rate: float, hosts: int = 0, prepared: bool = False) -> Iterator[Play]:
    """A furnished town that nobody visits yet: on so many hosts with a PostgreSQL, or on one with SQLite."""
    choice = random.Random(seed)  # noqa: S311 - a seed
    with ExitStack() as ends:
        database = ends.enter_context(server()) if hosts else None
        scenes, proxies = [], []
        for number in range(hosts or 1):
            proxy = ends.enter_context(ChaosProxy(_port_of(database))) if database else None
            folder = home / f"host-{number}"
            changes = {"HOSTNAME": f"host-{number}"}
            if proxy and database:
                changes["DATABASE_URL"] = database.url.replace(f":{_port_of(database)}/", f":{proxy.port}/")
            if not prepared:
                _make(folder, home / "host-0" if number else None, changes)
            geo = write_mmdb(
                folder / "town.mmdb", {net: {"country": {"iso_code": code}} for net, code in COUNTRIES.items()}
            )
            stage = ends.enter_context(Stage(folder, GEOIP_DATABASE=str(geo), **changes))
            trail = Trail(folder, folder / "spool", database.url if database else "")
            scenes.append((f"host-{number}", stage, trail))
            proxies.append(proxy)
        for _name, stage, _trail in scenes:
            stage.start("auth", "control", "agent")
        yield _set_the_scene(home, scenes, proxies, database, choice, seed, rate)


def _set_the_scene(home, scenes, proxies, database, choice, seed, rate) -> Play:
    api, history = Api({name: stage.control for name, stage, _ in scenes}), History()
    town = Town(api, history, choice)
    doors = [door for name, stage, _ in scenes for door in _doors(name, stage, rate / len(scenes))]
    clean(home)
    ledger = Ledger(home, [(door.host, door.plane) for door in doors])
    town.furnish()
    visitors = TownVisitors(home, ledger, doors, town, seed=seed)
    faults = random.Random(seed + 1)  # noqa: S311 - a seed; the editor has its own
    hosts = [
        Host(name, Scene(stage, trail, visitors, faults, None, database, longest_outage=5), proxy)
        for (name, stage, trail), proxy in zip(scenes, proxies, strict=True)
    ]
    return Play(hosts, history, ledger, api, town, visitors, faults, database)


def _doors(name: str, stage: Stage, rate: float) -> list[Door]:
    """Those of one host. Most ask the data plane, as proxies do; the control plane's answers cost many times more."""
    control = min(rate / 3, 25)
    return [Door(stage.auth, name, "data", 8, rate - control), Door(stage.control, name, "control", 2, control)]


def _make(folder: Path, like: Path | None, changes: dict[str, str]) -> None:
    """Make an installation, or one more host of it, with the same keys."""
    folder.mkdir(mode=0o700)
    if like is None:
        set_up(folder, **changes)
        return
    shutil.copytree(like / "secrets", folder / "secrets")
    put_compiled(configuration(folder))


def _port_of(database: Server | None) -> int:
    assert database is not None
    port = urlsplit(database.url).port
    assert port is not None
    return port
