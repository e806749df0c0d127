from django.apps import AppConfig
from django.utils.module_loading import import_string


class GatewallConfig(AppConfig):
    name = "gatewall"
    verbose_name = "System"
    checks = "gatewall.install.checks.register_all"
    after_commit = "gatewall.publication.announcement.announce"

    def ready(self) -> None:
        """Register the checks, and tell the revisions whom to call; by name, because they must not know snapshots."""
        from gatewall.policy import revisions  # noqa: PLC0415 - its models are not loaded before

        revisions.call_after_commit(import_string(self.after_commit))
        import_string(self.checks)()
