"""Run an examination: send the probes, read their access records, and collect the evidence."""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from gatewall.api.own_origins import public_urls
from gatewall.doctor import records
from gatewall.doctor.probing import probes, sending
from gatewall.doctor.probing.around import places
from gatewall.doctor.probing.evidence import Arrival, Evidence, Reply, Seen
from gatewall.doctor.probing.probes import Probe
from gatewall.doctor.probing.sending import Way
from gatewall.doctor.probing.target import Target, require_ours
from gatewall.engine.hosts import DomainTable
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.cookie_domain import guard_url
from gatewall.kernel.file_io import try_lock_file
from gatewall.kernel.refusals import Conflict
from gatewall.snapshot.host_paths import run_folder
from policies import policy_source

AT_ONCE = 4
TOTAL_SECONDS = 30.0
RECORD_SECONDS = 6.0
"""How long to wait for access records, which normally take up to 1 s."""
_LOOK_AGAIN_SECONDS = 0.2
_TIME_IS_OVER = Message(_("not sent: the examination took too long"))

Send = Callable[[Probe], Reply]
Find = Callable[[Mapping[str, str]], Mapping[str, Arrival]]


class ExaminationRunning(Conflict):
    """Another examination is running on this host."""

    code = "doctor-busy"


def examine(text: str, *, kind: str | None = None, way: Way | None = None, upstream: str = "") -> Evidence:
    """Examine the site at this URL; takes up to 45 s. Raises TargetRefused, ExaminationRunning.

    ``upstream``: where the site itself listens, as ``HOST:PORT``; a probe is also sent there, around the proxy.
    """
    target = Target.parse(text)
    urls = public_urls()
    own = guard_url(urls, target.host.name) if urls else None
    require_ours(target, DomainTable(policy_source.domains()), own)
    around = {str(place): place for place in places(upstream, target)} if upstream else {}

    def send(probe: Probe) -> Reply:
        place = around.get(probe.at)
        if place is None:
            return sending.send(target, probe, way or Way())
        return sending.send(target.unencrypted, probe, Way(place.address, place.port))

    run, since = secrets.token_hex(16), timezone.now()
    with _alone(run_folder(settings.GATEWALL_HOME)):
        seen = _seen(
            target,
            run,
            send,
            lambda answered: records.arrivals(run, since, answered),
            list(around),
        )
    return Evidence(
        target,
        seen,
        settings.ROOT_PATH,
        kind,
        settings.GATEWALL_TRUSTED_PROXIES.networks,
        records.untrusted_peers(timezone.now()),
    )


def _seen(target: Target, run: str, send: Send, find: Find, around: list[str]) -> dict[str, Seen]:
    """Send the first probe and, if it reached the gate, the others; return the evidence of each."""
    numbers = (f"{run}{number:02d}" for number in count())
    ends = time.monotonic() + TOTAL_SECONDS
    plain = probes.first(target, next(numbers))
    begun = _with_records([Seen(plain, send(plain))], find)
    arrival = begun[plain.name].arrival
    if arrival is None:
        return begun
    is_let_in = arrival.status == 200
    rest = list(probes.others(target, plain, lambda: next(numbers), root_path=settings.ROOT_PATH, is_let_in=is_let_in))
    rest += probes.around(target, around, lambda: next(numbers))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        replies = list(pool.map(lambda probe: send(probe) if time.monotonic() < ends else _LATE, rest))
    return begun | _with_records([Seen(probe, reply) for probe, reply in zip(rest, replies, strict=True)], find)


_LATE = Reply(failure=_TIME_IS_OVER)


def _with_records(all_seen: list[Seen], find: Find) -> dict[str, Seen]:
    """Return the probes with the records that arrived in time, by probe name."""
    answered = {number: seen.probe.nonce for seen in all_seen if (number := seen.reply.decision_id)}
    ends = time.monotonic() + RECORD_SECONDS
    while True:
        found = find(answered)
        if all(seen.probe.nonce in found or not _leaves_a_record(seen) for seen in all_seen):
            break
        if time.monotonic() > ends:
            break
        time.sleep(_LOOK_AGAIN_SECONDS)
    return {seen.probe.name: replace(seen, arrival=found.get(seen.probe.nonce)) for seen in all_seen}


def _leaves_a_record(seen: Seen) -> bool:
    """Return whether to wait for the record of this probe: not if the proxy hides its path or cannot read it."""
    status = seen.reply.status
    if seen.probe.at:
        return bool(seen.reply.decision_id)
    return status is not None and status != 400 and not (seen.probe.name in probes.HIDDEN and status in {403, 404})


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the examination lock of this host. Raises ExaminationRunning."""
    descriptor = try_lock_file(folder / "doctor.lock")
    if descriptor is None:
        raise ExaminationRunning(_("another examination is running; try again in a minute"))
    try:
        yield
    finally:
        os.close(descriptor)
