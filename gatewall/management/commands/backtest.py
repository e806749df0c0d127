"""Run a requested backtest."""

import os
import resource
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest

_NICENESS = 10
_CPU_SECONDS = 2 * 3600
_MEMORY_BYTES = 4 * 1024**3


class Command(BaseCommand):
    help = "Runs a backtest that waits, in this process, which is niced and limited. The agent calls this by itself."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="which backtest")
        parser.add_argument("--claim", type=uuid.UUID, help="the claim of whoever has claimed it already")

    def handle(self, *args: Any, **options: Any) -> None:
        run = Backtest.objects.filter(pk=options["id"]).first()
        if run is None:
            raise CommandError(f"there is no backtest {options['id']}")
        if options["claim"] is None:
            run = runs.claim_run(run, timezone.now())
        elif run.claim != options["claim"]:
            run = None
        if run is None:
            raise CommandError("it does not wait, or another one is running")
        _limit()
        if not running.run(run):
            raise CommandError("it has no result")
        self.stdout.write(f"backtest {run.pk} is finished")


def _limit() -> None:
    """Lower the priority of this process, unless it is low already, and limit its CPU time and memory.

    The niceness is not added to the agent's: a process of niceness 15 hardly runs on a busy machine.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    for kind, most in ((resource.RLIMIT_CPU, _CPU_SECONDS), (resource.RLIMIT_AS, _MEMORY_BYTES)):
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)  # a hard limit can only be lowered
        resource.setrlimit(kind, (limit, limit))
