"""One or several hosts, each with its own state, planes and agent; several share a PostgreSQL, behind a proxy each."""

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.kill_test.account import StoredLog
from tests.kill_test.faults import Scene
from tests.kill_test.stage import Stage
from tests.nemesis.api import Api
from tests.nemesis.chaos import ChaosProxy
from tests.nemesis.history import History
from tests.nemesis.ledger import Ledger, clean
from tests.nemesis.network import Namespace
from tests.nemesis.oracle import COUNTRIES
from tests.nemesis.visitors import Endpoint, WorkloadVisitors
from tests.nemesis.workload import Workload
from tests.postgres import KEEPS_COMMITS, Server, server
from tests.support.mmdb import write_mmdb
from tests.support.patterns import put_compiled
from tests.support.processes import configuration, set_up
from tests.support.valkey import Valkey, valkey

CLOCK = str(Path(__file__).with_name("clock"))
"""Folder for PYTHONPATH, to set the processes' wall clocks."""


@dataclass(frozen=True)
class Means:
    """The setup: number of hosts, stores, network namespaces."""

    hosts: int = 0
    """Above 0, the hosts share a PostgreSQL."""
    cached: bool = False
    apart: bool = False
    """In network namespaces, if ``network.why_not()`` is empty."""
    prepared: bool = False
    clocks: bool = True
    """If False, no fault may set a clock, and the processes are forked instead of started by an interpreter each."""


@dataclass(frozen=True)
class Host:
    """A host, its faults, and the networks to its stores."""

    name: str
    scene: Scene
    proxy: ChaosProxy | None = None
    cache: ChaosProxy | None = None
    network: Namespace | None = None

    @property
    def stage(self) -> Stage:
        return self.scene.stage

    def set_clock(self, ahead: float, *processes: str) -> None:
        """Shift the wall clock of these processes within a tenth of a second."""
        for name in processes:
            (self.stage.home / f"clock-{name}").write_text(str(ahead))


@dataclass(frozen=True)
class Play:
    """Hosts with a workload, its visitors, and the history of both."""

    hosts: Sequence[Host]
    history: History
    ledger: Ledger
    api: Api
    workload: Workload
    visitors: WorkloadVisitors
    choice: random.Random
    server: Server | None = None
    cache: Valkey | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def a_host(self) -> Host:
        """Return a random host."""
        return self.choice.choice(self.hosts)


@dataclass(frozen=True)
class _Place:
    """The processes of a host, and the networks to its stores."""

    name: str
    stage: Stage
    stored_log: StoredLog
    proxy: ChaosProxy | None
    cache: ChaosProxy | None
    network: Namespace | None


@contextmanager
def play(home: Path, *, seed: int, rate: float, means: Means) -> Iterator[Play]:
    """Yield a furnished workload without visitors yet."""
    with ExitStack() as ends:
        database = ends.enter_context(server(KEEPS_COMMITS)) if means.hosts else None
        cache = ends.enter_context(valkey()) if means.cached else None
        places = [_place(home, f"host-{number}", ends, means, database, cache) for number in range(means.hosts or 1)]
        for place in places:
            place.stage.start("auth", "control", "agent")
        yield _start(home, places, database, cache, seed, rate)


def _place(
    home: Path, name: str, ends: ExitStack, means: Means, database: Server | None, cache: Valkey | None
) -> _Place:
    folder, first = home / name, home / "host-0"
    network = ends.enter_context(Namespace(int(name[5:]))) if means.apart else None
    stores = network.stores if network else "127.0.0.1"
    changes, inside, address = {"HOSTNAME": name, **({"PYTHONPATH": CLOCK} if means.clocks else {})}, [], "127.0.0.1"
    proxy = cache_proxy = None
    if network:
        inside, address = network.inside, network.address
        changes["GATEWALL_TRUSTED_PROXIES"] = f"{network.visitors}/32"
    if database:
        proxy = ends.enter_context(ChaosProxy(_port_of(database), address=stores))
        changes["DATABASE_URL"] = database.url.replace(f"127.0.0.1:{_port_of(database)}/", f"{stores}:{proxy.port}/")
    if cache:
        cache_proxy = ends.enter_context(ChaosProxy(cache.port, address=stores))
        changes["CACHE_URL"] = f"valkey://{stores}:{cache_proxy.port}/0"
    if not means.prepared:
        _make(folder, None if folder == first else first, {"DATABASE_URL": database.url} if database else {})
    geo = write_mmdb(
        folder / "workload.mmdb", {net: {"country": {"iso_code": code}} for net, code in COUNTRIES.items()}
    )
    stage = ends.enter_context(Stage(folder, inside=inside, address=address, GEOIP_DATABASE=str(geo), **changes))
    stored_log = StoredLog(folder, folder / "spool", database.url if database else "")
    return _Place(name, stage, stored_log, proxy, cache_proxy, network)


def _start(
    home: Path, places: Sequence[_Place], database: Server | None, cache: Valkey | None, seed: int, rate: float
) -> Play:
    api = Api({place.name: (place.stage.address, place.stage.control) for place in places})
    history = History()
    workload = Workload(api, history, random.Random(seed))  # noqa: S311 - a seed
    endpoints = [endpoint for place in places for endpoint in _endpoints(place, rate / len(places))]
    clean(home)
    ledger = Ledger(home, [(endpoint.host, endpoint.plane) for endpoint in endpoints])
    workload.furnish()
    visitors = WorkloadVisitors(home, ledger, endpoints, workload, seed=seed)
    choice = random.Random(seed + 1)  # noqa: S311 - a seed; the editor has its own
    hosts = [
        Host(
            place.name,
            Scene(place.stage, place.stored_log, visitors, choice, None, database, longest_outage=5),  # type: ignore[arg-type]  # asks as Visitors do
            place.proxy,
            place.cache,
            place.network,
        )
        for place in places
    ]
    return Play(hosts, history, ledger, api, workload, visitors, choice, database, cache)


def _endpoints(place: _Place, rate: float) -> list[Endpoint]:
    """Return the endpoints of a host. Most are of the data plane; answers of the control plane cost many times more."""
    control, stage = min(rate / 3, 25), place.stage
    return [
        Endpoint(stage.address, stage.auth, place.name, "data", 8, rate - control),
        Endpoint(stage.address, stage.control, place.name, "control", 2, control),
    ]


def _make(folder: Path, like: Path | None, changes: dict[str, str]) -> None:
    """Create an installation, or another host of it with the same keys."""
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
