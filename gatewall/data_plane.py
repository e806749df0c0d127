"""The data plane's application, which ``gatewall data-plane`` starts under gunicorn. It needs only files."""

import logging.config
import os
import sys
from pathlib import Path

from gatewall.gate.application import AuthApplication
from gatewall.gate.build import build_gate
from gatewall.gate.countries import Countries
from gatewall.gate.shadow_follower import ShadowFollower, reports_folder
from gatewall.kernel import env, log_lines
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.snapshot.host_paths import policy_files, run_folder
from gatewall.snapshot.published import PublishedPolicies
from gatewall.snapshot.worker_report import WorkerReport, workers_folder


def application() -> AuthApplication:
    """Return the application of this process, with a thread that follows the published policy."""
    try:
        config = env.read(os.environ, Path(__file__).resolve().parent.parent)
    except env.ConfigError as error:
        print(f"gatewall: {error}", file=sys.stderr)  # noqa: T201 - the one line
        sys.exit(2)
    os.umask(0o077)  # only the owner may read the files of workers
    logging.config.dictConfig(log_lines.configuration(config.log_level, config.log_format))
    countries = Countries.of(config)
    report = WorkerReport(workers_folder(run_folder(config.home)))
    policies = PublishedPolicies(policy_files(config), report, countries.reload)
    policies.watch()
    trusted = TrustedCallers(config.trusted_proxies, config.metrics_token)
    gate = build_gate(config, policies, countries)
    if gate.shadow is not None:
        reports = reports_folder(run_folder(config.home))
        ShadowFollower(policy_files(config), policies.built, gate.shadow, reports).start()
    made = AuthApplication(gate, policies, config.root_path, trusted)
    made.report_heads = report.remembered
    return made
