"""Run the agent of this host in the foreground."""

import signal
from contextlib import suppress
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import Error

from gatewall.agent.agent import Agent
from gatewall.publication.nodes import forget
from gatewall.snapshot.host_paths import node_name


class Command(BaseCommand):
    help = "Publishes policy for the data plane of this host and ships its access log, until it is told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--forget-host", action="store_true", help="At the end, delete this host (a pod).")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = Event()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: stop.set())
        Agent.of_this_host().lead(stop.is_set)
        if options["forget_host"]:
            with suppress(Error):  # otherwise the host is deleted after a week of silence
                forget(node_name())
