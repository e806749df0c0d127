"""Random policy changes, and snapshots of the rows to compare a restore with."""

import random
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.utils import timezone

from gatewall.kernel.refusals import Refusal
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings
from licensing.models import License
from policies import services
from policies.access_rules import services as access_rules
from policies.groups.services import change_group, create_group, delete_group
from policies.models import (
    AUTO_BAN,
    AccessRule,
    AllowlistEntry,
    AuthorizedDomain,
    BlocklistEntry,
    GeoBlockRule,
    Group,
    WafRule,
)

MODELS = (BlocklistEntry, AllowlistEntry, AuthorizedDomain, GeoBlockRule, WafRule, Group, AccessRule)
NETWORKS = ("203.0.113.7", "203.0.113.0/24", "2001:db8::/32")
NAMES = ("a.example", "b.example", "*.example")
GROUPS = ("family", "guests", "staff")
RULES = ("one", "two", "xss-script-tag")
_FIXED = ("pattern", "operator")


def the_rows() -> dict[str, Any]:
    """Return every restorable row by column; of built-in rules only the editable fields."""
    rows: dict[str, Any] = {}
    for model in MODELS:
        rows[model.__name__] = {row["id"]: dict(row) for row in model._default_manager.values()}
    rows["BlocklistEntry"] = {id_: row for id_, row in rows["BlocklistEntry"].items() if row["source"] != AUTO_BAN}
    for rule in rows["WafRule"].values():
        if rule["builtin_key"]:
            for name in _FIXED:
                del rule[name]
    for group in Group.objects.all():
        rows["Group"][group.pk]["domains"] = {domain.pk for domain in group.authorized_domains.all()}
    for rule in AccessRule.objects.all():
        rows["AccessRule"][rule.pk] |= {
            "domains": {domain.pk for domain in rule.domains.all()},
            "groups": {group.pk for group in rule.groups.all()},
        }
    rows["settings"] = SystemSettings.objects.values().first() or {}
    return rows


def scopes() -> dict[int, set[str]]:
    """Return the names of the domains in the scope of each license."""
    return {row.pk: {domain.name for domain in row.authorized_domains.all()} for row in License.objects.all()}


def some(model: Any, chance: random.Random) -> Any:
    """Return a random row of the model, or None."""
    rows = list(model.objects.order_by("pk"))
    return chance.choice(rows) if rows else None


class Step:
    """A random change through its service; refused changes are ignored."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a repeatable test

    def __call__(self) -> None:
        acts = [name for name in dir(self) if name.startswith("do_")]
        with suppress(Refusal):
            getattr(self, self.chance.choice(acts))()

    def _moment(self) -> Any:
        return self.chance.choice([None, timezone.now(), timezone.now() + timedelta(days=1)])

    def do_block(self) -> None:
        source = self.chance.choice(["manual", "import:feed", AUTO_BAN])
        network, end = self.chance.choice(NETWORKS), self._moment()
        services.block_network(actor="x", network=network, source=source, expires_at=end)

    def do_change_block(self) -> None:
        if row := some(BlocklistEntry, self.chance):
            services.change_blocked_network(row, actor="x", network=self.chance.choice(NETWORKS), remark="moved")

    def do_unblock(self) -> None:
        if row := some(BlocklistEntry, self.chance):
            services.unblock_network(row, actor="x")

    def do_allow(self) -> None:
        domain = self.chance.choice([None, some(AuthorizedDomain, self.chance)])
        network, end = self.chance.choice(NETWORKS), self._moment()
        services.allow_network(actor="x", network=network, domain=domain, expires_at=end)

    def do_change_allow(self) -> None:
        if row := some(AllowlistEntry, self.chance):
            values = {"domain": some(AuthorizedDomain, self.chance), "expires_at": self._moment()}
            services.change_allowed_network(row, actor="x", **values)

    def do_disallow(self) -> None:
        if row := some(AllowlistEntry, self.chance):
            services.disallow_network(row, actor="x")

    def do_register(self) -> None:
        services.register_domain(actor="x", name=self.chance.choice(NAMES), access="public")

    def do_rename(self) -> None:
        if row := some(AuthorizedDomain, self.chance):
            services.change_domain(row, actor="x", name=self.chance.choice([*NAMES, "c.example"]))

    def do_remove(self) -> None:
        if row := some(AuthorizedDomain, self.chance):
            services.remove_domain(row, actor="x")

    def do_country(self) -> None:
        if row := some(GeoBlockRule, self.chance):
            services.unblock_country(row, actor="x")
        else:
            services.block_country(actor="x", country_code=self.chance.choice(["NZ", "AU"]), remark="r")

    def do_rule(self) -> None:
        domain = self.chance.choice([None, some(AuthorizedDomain, self.chance)])
        services.create_waf_rule(actor="x", name=self.chance.choice(RULES), pattern="a+", domain=domain)

    def do_change_rule(self) -> None:
        if row := some(WafRule, self.chance):
            domain = some(AuthorizedDomain, self.chance)
            name, score = self.chance.choice([*RULES, "three"]), self.chance.randint(1, 10)
            services.change_waf_rule(row, actor="x", domain=domain, name=name, score=score)

    def do_delete_rule(self) -> None:
        if row := some(WafRule, self.chance):
            services.delete_waf_rule(row, actor="x")

    def do_group(self) -> None:
        domains = [row for row in [some(AuthorizedDomain, self.chance)] if row]
        create_group(actor="x", name=self.chance.choice(GROUPS), authorized_domains=domains)

    def do_change_group(self) -> None:
        if row := some(Group, self.chance):
            domains = [domain for domain in AuthorizedDomain.objects.all() if self.chance.random() < 0.5]
            change_group(row, actor="x", name=self.chance.choice(GROUPS), authorized_domains=domains)

    def do_delete_group(self) -> None:
        if row := some(Group, self.chance):
            delete_group(row, actor="x")

    def do_settings(self) -> None:
        system_settings.change(actor="x", waf_threshold=self.chance.randint(1, 100), contact=self.chance.choice("ab"))

    def do_access_rule(self) -> None:
        domains = [each for each in [some(AuthorizedDomain, self.chance)] if each and self.chance.random() < 0.7]
        position = self.chance.choice([None, 1])
        access_rules.create_access_rule(
            actor="x",
            name=self.chance.choice(RULES),
            access="two_factor",
            domains=domains,
            position=position,
            groups=[each for each in [some(Group, self.chance)] if each],
        )

    def do_change_access_rule(self) -> None:
        if row := some(AccessRule, self.chance):
            domains = [each for each in [some(AuthorizedDomain, self.chance)] if each]
            position = self.chance.randint(1, AccessRule.objects.count())
            name = self.chance.choice([*RULES, "three"])
            access_rules.change_access_rule(row, actor="x", name=name, domains=domains, position=position)

    def do_delete_access_rule(self) -> None:
        if row := some(AccessRule, self.chance):
            access_rules.delete_access_rule(row, actor="x")


def now() -> int:
    """Return the current revision."""
    return revisions.current().revision
