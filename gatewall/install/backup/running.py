"""Refuse a restore while planes or the agent of this installation run."""

from gatewall.install import ports
from gatewall.install.backup.archive import BackupRefused
from gatewall.kernel.env import Config
from gatewall.snapshot.host_paths import run_folder
from gatewall.snapshot.notification import AgentLock
from gatewall.snapshot.worker_report import living_workers, workers_folder


def refuse_while_running(config: Config) -> None:
    """Raise BackupRefused if the agent, the data plane or the control plane runs on this ``GATEWALL_HOME``."""
    run = run_folder(config.home)
    with AgentLock(run).held() as is_free:
        if not is_free:
            raise BackupRefused(f"the agent runs on {config.home}: stop Gatewall first")
    if living_workers(workers_folder(run)):
        raise BackupRefused(f"the data plane runs on {config.home}: stop Gatewall first")
    try:
        ports.require_free(ports.Port(config.bind, config.port, "GATEWALL_PORT"))
    except ports.PortTakenError:
        # The control plane has no lock: check its port.
        raise BackupRefused(f"the control plane's port {config.port} is in use: stop Gatewall first") from None
