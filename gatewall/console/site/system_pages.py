"""Pages about the installation itself: its hosts, and how to back it up."""

from collections.abc import Iterator
from shlex import quote

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gatewall.console.site.pages import OperatorPage
from gatewall.health.indicators import NodeIndicator, hosts
from gatewall.snapshot.host_paths import backups_folder


class Hosts(OperatorPage):
    """Each host with the revision in force on it and in its workers, and what to do about a problem."""

    http_method_names = ["get", "head"]
    template, title = "console/hosts.html", _("Hosts")

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render(request, hosts=[(host, list(_advice(host))) for host in hosts()])


class Backup(OperatorPage):
    """The commands that write and restore a backup of this installation."""

    http_method_names = ["get", "head"]
    template, title = "console/backup.html", _("Backup")

    def get(self, request: HttpRequest) -> HttpResponse:
        folder = backups_folder(settings.CONFIG.home)
        backup = f"gatewall backup {quote(str(folder))}/gatewall-$(date +%F)"
        return self.render(
            request,
            is_sqlite=connection.vendor == "sqlite",
            folder=folder,
            backup=backup,
            without_log=f"{backup} --without-log",
            restore=f"gatewall restore {quote(str(folder))}/FILE",
        )


def _advice(host: NodeIndicator) -> Iterator[Promise]:
    """Yield what to do about each problem of a host."""
    if host.is_silent:
        yield _(
            "Its agent has not reported for more than a minute. Start Gatewall on it. "
            "A host that is gone leaves this list after seven days."
        )
    elif host.is_unconfirmed:
        yield _(
            "It could not compare its policy with the database, and keeps using its last one. "
            "Check the connection from this host to the database."
        )
    elif host.is_behind or any(worker.is_behind for worker in host.workers):
        yield _("It adopts the latest revision within seconds. If it stays behind, read the log of its agent.")
    if any(worker.rejected for worker in host.workers):
        yield _(
            "A worker refused the published policy and keeps using the previous one. "
            "Publish it again with “gatewall publish_policy” on this host."
        )
