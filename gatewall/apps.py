from django.apps import AppConfig


class GatewallConfig(AppConfig):
    name = "gatewall"
    verbose_name = "System"
