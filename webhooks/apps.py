from django.apps import AppConfig
from django.utils.module_loading import import_string


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = "Webhooks"
    witness = "webhooks.incidents.witness"

    def ready(self) -> None:
        """Have every event made into notices; by name, because events must not know webhooks."""
        from audit.events import recording  # noqa: PLC0415 - its models are not loaded before

        recording.tell_within(import_string(self.witness))
