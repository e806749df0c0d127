from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        """Have callers asked who they are by this app; by name, because its models are loaded only now."""
        import_module("gatewall.api.fresh_sign_in").asked_by(import_module("accounts.fresh_sign_in"))
