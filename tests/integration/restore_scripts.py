"""Scripts that run in an installation of the restore tests: before and after the backup, and after the restore."""

PEOPLE = """
from datetime import timedelta
from django.utils import timezone
from accounts import services as accounts
from accounts.identity_providers import services as providers
from accounts.models import ApiToken, Passkey, RecoveryCode, Session, TotpDevice, User
from accounts.models import ExternalIdentity, IdentityProvider
from audit.models import SecurityEvent
from licensing import services as licensing
from licensing.models import AppToken, GitToken, License
from webhooks.models import Delivery, Mail, Notice, Webhook
from gatewall.models import PolicyHead, PolicyRevision
from gatewall.install.backup.ended_sessions import unused_number
from policies.services import *
from policies.groups.services import create_group, change_group, delete_group
from policies.grants.share_links import delete_share_link, issue_share_link
from policies.models import *
from tests.support.proxies import PASSWORD, a_user, a_git_token, a_license, a_token, an_api_token, an_app_token
import json
def changed(name, **values):
    accounts.change_user(User.objects.get(username=name), actor="cast", **values)
"""
BEFORE = """
names = "a.example", "b.example"
domains = [register_domain(actor="", name=name, access="authenticated", seed=True) for name in names]
for name in ("stays", "deleted", "disabled", "password", "factor"):
    a_user(name)
a_user("demoted", is_admin=True)
a_user("admin", is_admin=True)
a_user("narrowed")
a_user("scoped", all_domains=False, authorized_domains=domains)
groups = [create_group(actor="cast", name=name, authorized_domains=domains) for name in ("narrow", "left", "gone")]
groups.append(create_group(actor="cast", name="wide", all_domains=True))
a_user("member", all_domains=False, groups=groups)
stays = User.objects.get(username="stays")
factor = User.objects.get(username="factor")
for name in ("removed", "kept"):
    factor.totp_devices.create(name=name, created_at=timezone.now(), confirmed_at=timezone.now())
RecoveryCode.objects.bulk_create([RecoveryCode(user=factor, digest=digest) for digest in ("used", "unused")])
for name in ("removed", "kept"):
    Passkey.objects.create(user=factor, name=name, credential_id=name, rp_id="example.com", sign_count=1)
block_network(actor="cast", network="203.0.113.1"); block_network(actor="cast", network="203.0.113.2")
allow_network(actor="cast", network="192.0.2.1")
webhook = Webhook.objects.create(name="pager", url="https://pager.example/")
Mail.objects.create(kind="password-changed", user=stays, at=timezone.now(), next_at=timezone.now())
Delivery.objects.create(webhook=webhook, notice=Notice.objects.create(type="t", body="{}"), next_at=timezone.now())
for name, users in (("corp", ("stays", "factor")), ("closed", ("stays",))):
    provider = providers.create_provider(
        actor="cast", slug=name, name=name, issuer="https://a.example", client_id="x", group_map_gives_admin=True
    )
    for user in User.objects.filter(username__in=users):
        ExternalIdentity.objects.create(
            provider=provider, user=user, issuer=provider.issuer, subject=user.username, linked_at=timezone.now()
        ).claimed_groups.create(claim="groups", value="x", is_added=False, claimed_at=timezone.now())
for name in ("link kept", "link revoked"):
    issue_share_link(actor="cast", name=name, domain=domains[0], expires_at=timezone.now() + timedelta(days=1))
for name in ("api kept", "api revoked"):
    an_api_token(User.objects.get(username="admin"), name=name)
out = {
    "session": a_token(stays),
    "deleted": a_token(User.objects.get(username="deleted")),
    "git": "stays:" + a_git_token(stays, "git kept"),
    "git revoked": "stays:" + a_git_token(stays, "git revoked"),
    "app": an_app_token(stays, "app kept"),
    "app revoked": an_app_token(stays, "app revoked"),
    "app narrowed": an_app_token(stays, "app narrowed", all_domains=False, authorized_domains=domains[:1]),
    "license": a_license("license kept"),
    "license deleted": a_license("license deleted"),
    "license disabled": a_license("license disabled"),
}
"""
AFTER = """
accounts.delete_user(User.objects.get(username="deleted"), actor="cast")
changed("disabled", is_active=False)
changed("password", password="another " + PASSWORD)
changed("demoted", is_admin=False)
changed("narrowed", all_domains=False)
domains = AuthorizedDomain.objects.order_by("name")
changed("scoped", authorized_domains=domains[:1])
changed("member", groups=Group.objects.exclude(name="left"))
change_group(Group.objects.get(name="narrow"), actor="cast", authorized_domains=domains[:1])
change_group(Group.objects.get(name="wide"), actor="cast", all_domains=False)
delete_group(Group.objects.get(name="gone"), actor="cast")
create_group(actor="cast", name="gone", authorized_domains=domains)
factor = User.objects.get(username="factor")
TotpDevice.objects.update(last_step=77)
TotpDevice.objects.filter(name="removed").delete()
RecoveryCode.objects.filter(digest="used").delete()
Passkey.objects.filter(name="removed").delete()
Passkey.objects.filter(name="kept").update(sign_count=9)
licensing.revoke(GitToken.objects.get(name="git revoked"), actor="cast")
licensing.revoke(AppToken.objects.get(name="app revoked"), actor="cast")
licensing.revoke(License.objects.get(name="license deleted"), actor="cast")
delete_share_link(ShareLink.objects.get(name="link revoked"), actor="cast")
ShareLink.objects.get().openings.create(number=1, opened_at=timezone.now(), client_ip="192.0.2.1")
ApiToken.objects.get(name="api revoked").delete()
licensing.change_license(License.objects.get(name="license disabled"), actor="cast", is_active=False)
providers.change_provider(IdentityProvider.objects.get(slug="closed"), actor="cast", enabled=False)
providers.change_provider(IdentityProvider.objects.get(slug="corp"), actor="cast", group_map_gives_admin=False)
ExternalIdentity.objects.get(subject="factor").delete()
unblock_network(BlocklistEntry.objects.get(network="203.0.113.2"), actor="cast")
block_network(actor="cast", network="203.0.113.3")
disallow_network(AllowlistEntry.objects.get(), actor="cast")
new = a_user("new")
out = {"new session": a_token(new), "new id": new.pk, "epoch": str(PolicyHead.objects.get().epoch)}
"""
RESTORED = """
users = {user.username: user for user in User.objects.all()}
events = [each.detail for each in SecurityEvent.objects.filter(kind="settings.changed").order_by("id")]
out = {
    "active": sorted(name for name, user in users.items() if user.is_active),
    "admins": sorted(name for name, user in users.items() if user.is_admin),
    "passwords": [users["password"].check_password(text + PASSWORD) for text in ("", "another ")],
    "all_domains": users["narrowed"].all_domains,
    "scope": list(users["scoped"].authorized_domains.values_list("name", flat=True)),
    "groups": {
        group.name: [group.all_domains, *group.authorized_domains.values_list("name", flat=True)]
        for group in users["member"].groups.all()
    },
    "step": TotpDevice.objects.get(name="kept").last_step,
    "codes": list(RecoveryCode.objects.values_list("digest", flat=True)),
    "passkeys": list(Passkey.objects.values_list("name", "sign_count")),
    "tokens": sorted(GitToken.objects.values_list("name", flat=True)),
    "app_tokens": sorted(AppToken.objects.values_list("name", flat=True)),
    "links": list(ShareLink.objects.values_list("name", "openings__number")),
    "providers": list(IdentityProvider.objects.values_list("slug", "enabled", "group_map_gives_admin").order_by("id")),
    "identities": sorted(f"{each.provider.slug} {each.subject}" for each in ExternalIdentity.objects.all()),
    "api_tokens": sorted(ApiToken.objects.values_list("name", flat=True)),
    "licenses": sorted(License.objects.filter(is_active=True).values_list("name", flat=True)),
    "sessions": sum(each.is_live(timezone.now()) for each in Session.objects.all()),
    "epochs": [str(each) for each in PolicyHead.objects.values_list("epoch", "parent_epoch").get()],
    "event": events[-1],
    "mails": list(Mail.objects.values_list("status", "next_at")),
    "deliveries": list(Delivery.objects.values_list("status", "next_at")),
    "actor": PolicyRevision.objects.order_by("-number").first().actor,
    "next id": a_user("next").pk,
}
"""
