from django.apps import AppConfig
from django.utils.module_loading import import_string


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit"
    witness = "audit.events.revision_events.record"

    def ready(self) -> None:
        """Have every revision recorded among the security events; by name, because revisions must not know events."""
        from gatewall.policy import revisions  # noqa: PLC0415 - its models are not loaded before

        revisions.tell_within(import_string(self.witness))
