"""Update the built-in WAF rules to this version."""

from typing import Any

from django.core.management.base import BaseCommand

from policies.rules import builtin


class Command(BaseCommand):
    help = "Brings the built-in WAF rules to this version; what operators set is left alone."

    def handle(self, *args: Any, **options: Any) -> None:
        if changed := builtin.seed_waf_rules(actor="seed"):
            self.stdout.write(f"{changed} built-in WAF rules written")
