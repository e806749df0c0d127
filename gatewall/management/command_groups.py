"""Commands of the console command ``gatewall``, in groups, with one line each. Plain data, usable without Django."""

import difflib
import pkgutil
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "commands"

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": {
        "up": "start everything in the foreground, with a demo site, and say when it is ready",
        "control-plane": "serve pages, API and admin",
        "data-plane": "answer /auth for the reverse proxy, from published files alone",
        "agent": "publish policy on this host and ship its access log",
    },
    "Install and upgrade": {
        "keys": "create the keys that are missing",
        "check": "check the configuration; with --deploy, whether it is fit for production",
        "migrate": "bring the database to this release",
        "seed-waf-rules": "bring the built-in WAF rules to this release",
        "seed-domains": "register this computer's own names, for the demo",
        "geo": "install a geo database, by which countries are known; show the one in use",
        "update-geoip": "the same as geo install",
        "backup": "write the whole installation to one file while everything runs",
        "restore": "replace the database by a backup",
        "rotate-keys": "replace session keys and data keys while everything runs",
    },
    "Put a site behind a proxy": {
        "domain": "list the registered domains, and register one",
        "proxy-config": "print the configuration of nginx, Caddy, Traefik, HAProxy or Envoy for a site",
        "doctor": "check the proxy in front of a site",
    },
    "Find out": {
        "explain": "say how the gate would answer a request, and why",
        "waf": "measure the built-in WAF rules on files of requests",
        "backtest": "run a waiting backtest in this process",
    },
    "Users": {
        "user": "list, add, disable and enable users, reset passwords and second factors",
        "create-admin": "create an admin",
        "send-test-mail": "send a test mail, and say what the mail server answered",
        "recover-admin-2fa": "remove a user's second factor, so that the password alone is enough",
    },
    "Policy and logs": {
        "policy": "export the policy as a document, compare, plan and apply a document",
        "import-list": "replace a source of the blocklist by a list from a file or URL",
        "unban": "remove automatic bans of an address",
        "publish-policy": "publish the committed policy on this host now",
        "reload": "have every worker read everything again",
        "prune-logs": "delete log rows that are older than their retention",
    },
    "Development": {
        "shell": "open a Python shell with the models loaded",
        "dbshell": "open the shell of the database",
        "makemigrations": "write migrations for changed models",
        "showmigrations": "list migrations, and which of them are applied",
        "spectacular": "write the OpenAPI document",
    },
}
"""Command lines by group; each of our commands is in one group."""

DJANGO = frozenset(
    {
        "changepassword",
        "clearsessions",
        "collectstatic",
        "compilemessages",
        "createcachetable",
        "createsuperuser",
        "diffsettings",
        "dumpdata",
        "findstatic",
        "flush",
        "generateschema",
        "inspectdb",
        "loaddata",
        "makemessages",
        "optimizemigration",
        "remove-stale-contenttypes",
        "runserver",
        "sendtestemail",
        "sqlflush",
        "sqlmigrate",
        "sqlsequencereset",
        "squashmigrations",
        "startapp",
        "startproject",
        "test",
        "testserver",
    }
)
"""Commands of Django and its apps that the list leaves out; they can still be run."""


def known() -> set[str]:
    """Return the names of all commands, with dashes."""
    ours = {module.name.replace("_", "-") for module in pkgutil.iter_modules([str(_FOLDER)])}
    return ours.union(DJANGO, *GROUPS.values())


def listing() -> str:
    """Return the commands in their groups, one line each."""
    width = max(len(name) for lines in GROUPS.values() for name in lines) + 2
    blocks = ["usage: gatewall COMMAND [ARGUMENT...]", *(_block(title, width) for title in GROUPS)]
    return "\n\n".join([*blocks, "`gatewall COMMAND --help` lists the options of a command."])


def _block(title: str, width: int) -> str:
    return "\n".join([f"{title}:", *(f"  {name:<{width}}{line}" for name, line in GROUPS[title].items())])


def nearest(name: str) -> str | None:
    """Return the command whose name is most similar to an unknown one, None if no name is."""
    found = difflib.get_close_matches(name, sorted(known()), n=1)
    return found[0] if found else None
