"""``gatewall domain``: list the registered domains, and register one, as ``POST /authorized-domains`` does."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gatewall.engine.hosts import Access
from gatewall.engine.snapshot import DomainsMode
from gatewall.management.refused import refusals_as_errors
from gatewall.policy import revisions, system_settings
from policies import cookie_reach, services
from policies.models import AuthorizedDomain

_ACTOR = "gatewall domain"


class Command(BaseCommand):
    help = "Lists the domains that visitors may request, and registers one."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="lists all registered domains and who may enter")
        add = actions.add_parser("add", help="registers a domain; the first one refuses all other hosts")
        add.add_argument("name", metavar="HOST", help="like app.example.com, or *.example.com")
        add.add_argument(
            "--access",
            choices=[access.value for access in Access],
            default=Access.AUTHENTICATED.value,
            help="who may enter, by default every user who signed in",
        )
        add.add_argument("--remark", default="", help="a note for operators")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "list":
            for domain in AuthorizedDomain.objects.order_by("name"):
                self.stdout.write("  ".join(filter(None, [domain.name, domain.access, domain.remark])))
            return
        mode_before = system_settings.current().authorized_domains_mode
        with refusals_as_errors():
            domain = services.register_domain(
                actor=_ACTOR, name=options["name"], access=options["access"], remark=options["remark"]
            )
        pending = ", but not in force on this host yet" if revisions.publication_is_pending() else ""
        self.stdout.write(f"{domain.name} is registered with the access {domain.access}{pending}")
        if system_settings.current().authorized_domains_mode != mode_before:
            self.stdout.write(f"authorized_domains_mode is now {DomainsMode.REGISTERED.value}: other hosts are refused")
        if warning := cookie_reach.warning_about(domain):
            self.stdout.write(f"warning: {warning}")
