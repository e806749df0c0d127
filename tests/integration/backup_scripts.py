"""Scripts that run in an installation of the backup tests: fill it, write continuously, print its state."""

LOG_ROWS = 3_000
FURNISH = """
from datetime import timedelta
from django.db import transaction
from django.utils import timezone
from audit.models import AccessLog, AccessLogRule
from audit.spool.rows import client_key
from policies.services import block_network, register_domain, create_waf_rule, allow_network
from accounts.models import FailureCount
from accounts.sign_in.totp import sealing_context
from accounts.models import TotpDevice
from django.conf import settings
from gatewall.credentials.sealing import Sealer
from tests.support.proxies import a_user, a_git_token, a_license, a_token
import uuid

domain = register_domain(actor="cast", name="office.example", access="authenticated")
remark = "\\u0417\\u0434\\u0440\\u0430 \\"x\\" \\\\ \\t"
bob = a_user("Bob", all_domains=False, authorized_domains=[domain], remark=remark)
alice = a_user("alice", is_admin=True)
a_git_token(bob); a_license(expires_at=timezone.now() + timedelta(days=9)); a_token(bob)
sealed = Sealer(settings.GATEWALL_DATA_KEYS).seal(b"seed of bob", context=sealing_context(bob.pk))
TotpDevice.objects.create(user=bob, sealed_secret=sealed, created_at=timezone.now(), confirmed_at=timezone.now())
block_network(actor="cast", network="203.0.113.9")
allow_network(actor="cast", network="192.0.2.7", domain=domain)
now = timezone.now()
def row(number):
    return AccessLog(
        decision_id=uuid.UUID(int=number), at=now - timedelta(seconds=10 * number), node="n", client_ip="198.51.100.7",
        client_key=client_key("198.51.100.7"), country_code=None, method="GET", scheme="https", host="office.example",
        path="/caf\\u00e9/\\u2028" + str(number), query="a=\\\\N&b=\\"", user_agent="x", status=200, outcome="allow",
        reason="session-valid", rules=[{"id": 1, "n": None}], credential={"a": [1.5, True]}, visible=["for"],
        latency_us=7, policy_revision=1)
with transaction.atomic():
    AccessLog.objects.bulk_create([row(number) for number in range(LOG_ROWS)], batch_size=1000)
    AccessLogRule.objects.bulk_create(
        [AccessLogRule(rule_id=1, at=now, decision_id=uuid.UUID(int=number)) for number in range(LOG_ROWS)],
        batch_size=1000)
""".replace("LOG_ROWS", str(LOG_ROWS))
WRITE = """
import itertools, sys, uuid
from django.utils import timezone
from django.db import transaction
from audit.models import AccessLog, AccessLogRule
from policies.services import block_network
for number in itertools.count(1):
    block_network(actor="writer", network=f"10.{number // 65536}.{number // 256 % 256}.{number % 256}", force=True)
    with transaction.atomic():
        key, now = uuid.uuid4(), timezone.now()
        AccessLog.objects.create(
            decision_id=key, at=now, node="w", client_ip="", client_key="", method="", scheme="", path="", query="",
            user_agent="", status=200, outcome="", reason="", rules=[], visible=[], latency_us=0, policy_revision=0)
        AccessLogRule.objects.create(rule_id=2, at=now, decision_id=key)
    print(number, flush=True)
"""
STATE = """
from accounts.models import User
from audit.models import AccessLog, AccessLogRule, SecurityEvent
from gatewall.models import PolicyHead, PolicyRevision
from policies.models import BlocklistEntry
from django.db import connection
from gatewall.install.backup.schema import check_constraints
from django.db import transaction
with transaction.atomic():
    check_constraints()
log = set(AccessLog.objects.values_list("decision_id", flat=True))
out = {
    "revision": PolicyHead.objects.get().revision,
    "revisions": PolicyRevision.objects.count(),
    "written": PolicyRevision.objects.filter(actor="writer").count(),
    "blocked": BlocklistEntry.objects.filter(created_by="writer").count(),
    "log": len(log),
    "rules_without_row": len(set(AccessLogRule.objects.values_list("decision_id", flat=True)) ^ log),
    "users": sorted(User.objects.values_list("username", flat=True)),
    "default_partition": 0,
}
if connection.vendor == "postgresql":
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM audit_accesslog_default")
        out["default_partition"] = cursor.fetchone()[0]
"""
SAVE_A_VIEW = """
from accounts.models import User
from gatewall.console.models import SavedView
SavedView.objects.create(owner=User.objects.get(username="alice"), name="one")
"""
