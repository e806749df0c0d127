"""Faults during policy changes: those of tests.kill_test, and those that only affect policies."""

import http.client
import json
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.kill_test import faults as host_faults
from tests.kill_test.faults import Scene
from tests.nemesis.chaos import Mode
from tests.nemesis.hosts import Play

Fault = Callable[[Play], None]


def nothing(play: Play) -> None:
    """Do nothing: the baseline."""
    time.sleep(play.choice.uniform(2, 5))


def on_a_host(fault: Callable[[Scene], None], *, deaf: bool = False) -> Fault:
    """Return a fault of tests.kill_test on one of the hosts. A deaf host is cut off from the others meanwhile."""

    def do(play: Play) -> None:
        host = play.a_host()
        with play.history.excused(*([host.name] if deaf else [])):
            fault(host.scene)
            host.stage.start("auth", "control", "agent")

    do.__name__ = fault.__name__
    return do


def of_the_store(fault: Callable[[Scene], None]) -> Fault:
    """Return a fault of the database: all hosts are cut off from each other meanwhile."""

    def do(play: Play) -> None:
        with play.history.excused(*play.names):
            fault(play.hosts[0].scene)

    do.__name__ = fault.__name__
    return do


def twenty_reloads(play: Play) -> None:
    """Reload at all control planes at the same time."""
    play.api.at_once(20, "POST", "/system/reload")


def policy_file_damaged(play: Play) -> None:
    """Replace the published manifest by garbage several times: no worker loads it."""
    current = play.a_host().stage.home / "policy" / "current"
    good = current.read_bytes()
    for _ in range(5):
        bad = bytearray(good)
        bad[play.choice.randrange(len(bad))] ^= 1 << play.choice.randrange(8)
        _replace(current, play.choice.choice((bytes(bad), good[: play.choice.randrange(len(good))], b"", b"\0" * 5000)))
        time.sleep(play.choice.uniform(0.1, 0.8))


def policy_file_gone(play: Play) -> None:
    (play.a_host().stage.home / "policy" / "current").unlink(missing_ok=True)
    time.sleep(play.choice.uniform(0.5, 1.5))


def policy_file_of_before(play: Play) -> None:
    """Restore an old, signed manifest: no worker goes back to it."""
    current = play.a_host().stage.home / "policy" / "current"
    old = current.read_bytes()
    time.sleep(play.choice.uniform(2, 4))
    _replace(current, old)
    time.sleep(play.choice.uniform(0.5, 1.5))


def segments_damaged(play: Play) -> None:
    """Flip a bit in each published segment, and reload as documented."""
    host = play.a_host()
    for path in (host.stage.home / "policy" / "segments").iterdir():
        data = bytearray(path.read_bytes())
        if data:
            data[play.choice.randrange(len(data))] ^= 1
            _replace(path, bytes(data))
    time.sleep(play.choice.uniform(0.2, 1))
    play.api.until_answered("POST", "/system/reload", {})


def _through(mode: Mode, shortest: float, longest: float) -> Fault:
    def do(play: Play) -> None:
        host = play.a_host()
        assert host.proxy is not None
        with play.history.excused(host.name), host.proxy.failing(mode):
            time.sleep(play.choice.uniform(shortest, longest))

    do.__name__ = f"store_{mode.replace('-', '_')}_for_a_host"
    return do


def host_cut_off(play: Play) -> None:
    """Cut a host off in both directions: it uses its last policy, and is up to date two seconds after."""
    host = play.a_host()
    assert host.proxy is not None
    until = time.monotonic() + play.choice.uniform(8, 20)
    with play.history.excused(host.name), host.proxy.failing(Mode.HANG):
        began = time.monotonic()
        for plane, port in (("data", host.stage.auth), ("control", host.stage.control)):
            HEALTH.append((plane, _health(host.stage.address, port), time.monotonic() - began))
        time.sleep(max(0.0, until - time.monotonic()))


HEALTH: list[tuple[str, str, float]] = []
"""Health of the planes of a host that is cut off, and after how many seconds."""


def _health(address: str, port: int) -> str:
    connection = http.client.HTTPConnection(address, port, timeout=5)
    try:
        connection.request("GET", "/wall/health")
        checks = json.loads(connection.getresponse().read())["checks"]
        return ", ".join(f"{name}: {found}" for name, found in checks.items() if name in ("database", "policy"))
    except OSError as error:
        return f"no answer in 5 s ({type(error).__name__})"
    finally:
        connection.close()


def link_cut(play: Play) -> None:
    """Take the link between a host and its stores down: packets are lost silently."""
    host = play.a_host()
    assert host.network is not None
    with play.history.excused(host.name), host.network.cut():
        time.sleep(play.choice.uniform(3, 12))


def cache_gone(play: Play) -> None:
    """Kill the cache, and restart it empty. Revocations do not wait for it."""
    assert play.cache is not None
    play.cache.kill()
    time.sleep(play.choice.uniform(2, 6))
    play.cache.start()


def cache_hangs(play: Play) -> None:
    assert play.cache is not None
    with play.cache.hanging():
        time.sleep(play.choice.uniform(2, 6))


def cache_emptied(play: Play) -> None:
    """Flush the cache ten times a second."""
    assert play.cache is not None
    play.cache.flushed_for(play.choice.uniform(2, 6))


def _cache_through(mode: Mode) -> Fault:
    def do(play: Play) -> None:
        with ExitStack() as ends:
            for host in play.hosts:
                assert host.cache is not None
                ends.enter_context(host.cache.failing(mode))
            time.sleep(play.choice.uniform(2, 6))

    do.__name__ = {Mode.DELAY: "cache_slow", Mode.RESET: "cache_reset"}[mode]
    return do


def _clock(words: str, ahead: float, *processes: str) -> Fault:
    """Step the wall clock of some processes of a host, and back: no answer may depend on it."""

    def do(play: Play) -> None:
        host = play.a_host()
        host.set_clock(ahead, *processes)
        time.sleep(play.choice.uniform(3, 6))
        host.set_clock(0, *processes)
        time.sleep(1)

    do.__name__ = f"clock_{words}"
    return do


def stores_gone_for_ten_minutes(play: Play) -> None:
    """Take database and cache away for ten minutes, and record when each data plane reports it."""
    assert play.server is not None
    assert play.cache is not None
    with play.history.excused(*play.names):
        began = time.monotonic()
        play.server.stop()
        play.cache.kill()
        silent = {host.name: host.stage for host in play.hosts}
        while time.monotonic() < began + TEN_MINUTES:
            for name, stage in list(silent.items()):
                if "not confirmed" in _health(stage.address, stage.auth):
                    ALARMS.append(time.monotonic() - began)
                    del silent[name]
            time.sleep(1)
        play.cache.start()
        play.server.start()


TEN_MINUTES = 600.0
ALARMS: list[float] = []
"""Seconds without stores after which a host's data plane reported it."""


def rolling_restart(play: Play) -> None:
    """Send SIGHUP to the masters of both planes: all workers are replaced."""
    host = play.a_host()
    for plane in ("control", "auth"):
        host.stage.restart_workers(plane)


EVERYWHERE: dict[Fault, int] = {
    nothing: 4,
    on_a_host(host_faults.a_worker_of_the_data_plane): 8,
    on_a_host(host_faults.a_worker_of_the_control_plane): 4,
    on_a_host(host_faults.both_workers_of_the_control_plane): 2,
    on_a_host(host_faults.the_agent): 5,
    on_a_host(host_faults.the_master_of_the_data_plane): 2,
    on_a_host(host_faults.the_master_of_the_control_plane): 2,
    on_a_host(host_faults.everything, deaf=True): 1,
    of_the_store(host_faults.database_gone): 5,
    of_the_store(host_faults.database_hangs): 4,
    twenty_reloads: 4,
    policy_file_damaged: 4,
    policy_file_gone: 3,
    policy_file_of_before: 3,
    segments_damaged: 2,
    rolling_restart: 3,
    # Sessions are valid from a minute before their start (the leeway of nbf), so clocks may differ by less.
    _clock("of_a_host_45_s_ahead", 45, "auth", "control", "agent"): 2,
    _clock("of_a_host_45_s_behind", -45, "auth", "control", "agent"): 2,
    _clock("of_data_plane_and_agent_an_hour_ahead", 3600, "auth", "agent"): 2,
    _clock("of_the_agent_25_hours_ahead", 25 * 3600, "agent"): 2,
    _clock("of_the_agent_an_hour_behind", -3600, "agent"): 2,
}
"""Faults and their weights."""
BETWEEN_HOSTS: dict[Fault, int] = {
    _through(Mode.DELAY, 3, 8): 4,
    _through(Mode.HANG, 2, 6): 4,
    _through(Mode.ONE_WAY, 2, 5): 4,
    _through(Mode.RESET, 2, 6): 4,
    host_cut_off: 3,
}
"""Faults of the network between a host and the store, with weights."""
OF_THE_CACHE: dict[Fault, int] = {
    cache_gone: 4,
    cache_hangs: 4,
    cache_emptied: 3,
    _cache_through(Mode.DELAY): 3,
    _cache_through(Mode.RESET): 2,
}
APART: dict[Fault, int] = {link_cut: 4}
"""Faults of network namespaces, with weights."""


BY_NAME_ALONE: tuple[Fault, ...] = (stores_gone_for_ten_minutes,)
"""Faults that are never chosen at random."""


def possible(play: Play) -> dict[Fault, int]:
    """Return the faults that this setup supports, with weights."""
    between = BETWEEN_HOSTS if len(play.hosts) > 1 else {}
    apart = APART if play.hosts[0].network else {}
    return EVERYWHERE | between | (OF_THE_CACHE if play.cache else {}) | apart


def _replace(path: Path, data: bytes) -> None:
    other = path.with_name("put in the place")
    other.write_bytes(data)
    shutil.copymode(path, other) if path.exists() else None
    other.replace(path)
