"""Make every worker of every host reload the policy."""

from typing import Any

from django.core.management.base import BaseCommand

from gatewall.policy import revisions


class Command(BaseCommand):
    help = "Has every worker read rules, lists, settings and the geo database again; no lock-out is forgotten."

    def handle(self, *args: Any, **options: Any) -> None:
        revisions.demand_reload()
        pending = "; not in force on this host yet" if revisions.publication_is_pending() else ""
        self.stdout.write(f"revision {revisions.current().revision} is being read again by every worker{pending}")
