"""The data plane: ``granian --interface asginl gatewall.asgi:application``. Needs files, nothing else."""

import ctypes
import logging.config
import multiprocessing
import os
import signal
import sys
from pathlib import Path

from gatewall import env, log_lines
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.forwardauth.asgi import AuthApplication
from gatewall.forwardauth.build import build_gate
from gatewall.forwardauth.countries import Countries
from gatewall.snapshot.places import policy_files, run_folder
from gatewall.snapshot.published import PublishedPolicies
from gatewall.snapshot.worker_report import WorkerReport

_PR_SET_PDEATHSIG = 1


class _Observer:
    """Reports each policy and, where a reload was asked for, reads the geo database again."""

    def __init__(self, report: WorkerReport, countries: Countries) -> None:
        self._report = report
        self._countries = countries

    def loaded(self, policy: PolicySnapshot, *, reloaded: bool) -> None:
        if reloaded:
            self._countries.reload()
        self._report.loaded(policy, reloaded=reloaded)

    def rejected(self, why: str) -> None:
        self._report.rejected(why)


def _die_with_parent() -> None:
    """Have the kernel end this worker when its master is gone: an orphan would keep the port."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    master = multiprocessing.parent_process()
    if master is not None and os.getppid() != master.pid:
        os._exit(1)  # it was killed before the kernel knew: no signal will come any more


def _build() -> AuthApplication:
    try:
        config = env.read(os.environ, Path(__file__).resolve().parent.parent)
    except env.ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - the one line
        sys.exit(2)
    os.umask(0o077)  # what workers write is for the owner alone; granian sets the mode of a socket itself
    logging.config.dictConfig(log_lines.configuration(config.log_level, config.log_format))
    _die_with_parent()
    countries = Countries(config.geo_database)
    report = WorkerReport(run_folder(config.home) / "workers")
    policies = PublishedPolicies(policy_files(config), _Observer(report, countries))
    policies.watch()
    return AuthApplication(build_gate(config, policies, countries), policies, config.root_path)


application = _build()
