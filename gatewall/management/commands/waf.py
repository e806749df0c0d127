"""``gatewall waf rates FOLDER``: run the built-in WAF rules on files of requests."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gatewall.engine.waf.judge import Judge
from gatewall.whatif import waf_rates


class Command(BaseCommand):
    help = "Measures the built-in WAF rules, as they come, on files of attacks and harmless requests."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        rates = actions.add_parser("rates", help="prints how many attacks are found and how many others refused")
        rates.add_argument("folder", type=Path, help="a folder of .jsonl or .jsonl.gz files (docs/waf.md)")
        rates.add_argument("--applications", action="store_true", help="one row per application instead")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["folder"]
        try:
            waf_rates.corpus_files(folder)  # refused before the rules are compiled, which takes seconds
            judge = Judge()
            if options["applications"]:
                self.stdout.write(waf_rates.APPLICATION_HEAD)
                for name, application in waf_rates.by_application(folder, judge).items():
                    self.stdout.write(waf_rates.application_table(name, application))
                return
            self.stdout.write(waf_rates.HEAD)
            for rates in waf_rates.measure(folder, judge):
                self.stdout.write(waf_rates.table(rates))
                self.stdout.flush()
        except (waf_rates.CorpusRefused, OSError) as error:
            raise CommandError(str(error), returncode=2) from error
