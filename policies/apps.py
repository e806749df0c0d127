"""The app of the policy."""

from django.apps import AppConfig
from django.utils.module_loading import import_string


class PoliciesConfig(AppConfig):
    name = "policies"
    verbose_name = "Policies"
    taking_back = "policies.history.restore.take_back"

    def ready(self) -> None:
        """Let the lock-out guard see what is left of the lists without a change that waits for confirmation."""
        from policies import lockout  # noqa: PLC0415 - imports models, which are there from now on

        lockout.take_back_with(import_string(self.taking_back))
