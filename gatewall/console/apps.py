from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "gatewall.console"
    label = "console"
    verbose_name = "Operator pages"
