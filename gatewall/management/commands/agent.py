"""Runs the agent of this host in the foreground."""

import signal
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from gatewall.shipping.agent import Agent
from gatewall.shipping.log_shipper import LogShipper
from gatewall.snapshot.places import node_name, policy_files, run_folder


class Command(BaseCommand):
    help = "Publishes policy for the data plane of this host and ships its access log, until it is told to stop."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = Event()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: stop.set())
        home = settings.GATEWALL_HOME
        agent = Agent(policy_files(settings.CONFIG), run_folder(home), node_name(), LogShipper(home / "spool"))
        agent.lead(stop.is_set)
