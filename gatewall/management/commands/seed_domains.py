"""Register the names of this machine, so that the guard page can redirect to the demo."""

from typing import Any

from django.core.management.base import BaseCommand

from gatewall.engine.hosts import Access
from policies import services
from policies.models import AuthorizedDomain

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Command(BaseCommand):
    help = "Registers localhost, 127.0.0.1 and [::1]; authorized_domains_mode stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        if AuthorizedDomain.objects.exists():
            return  # do not recreate domains that were deleted
        for name in _LOOPBACK_NAMES:
            services.register_domain(actor="seed", name=name, access=Access.AUTHENTICATED.value, seed=True)
