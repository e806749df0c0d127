"""Create and delete device passes, and find refused programs that could get one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils import timezone

from audit.models import AccessLog
from audit.spool.rows import client_key
from gatewall.engine.addresses import IPAddress, parse_network, text_of
from gatewall.engine.devices import is_program, program_of
from gatewall.engine.hosts import Access, DomainTable, Host
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Reason, SubjectKind
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import policy_source, rows
from policies.grant_limits import (
    MAX_DEVICE_PASSES,
    MAX_DEVICE_PASSES_OF_A_USER,
    MAX_HOURS_OF_A_PASS,
    require_valid_end,
)
from policies.grants.services import GrantOverruled, refuse_denied, room_for_one
from policies.models import AuthorizedDomain, DevicePass, Group

_CARRIER_NAT = parse_network("100.64.0.0/10")
"""Shared address space (RFC 6598): many customers of a carrier share one address."""
_SHARED_WITHIN = timedelta(days=7)
_REFUSED_WITHIN = timedelta(hours=1)
_MAX_READ = 500
_WITHOUT_CREDENTIAL = (Reason.CREDENTIAL_MISSING.value, Reason.CREDENTIAL_INVALID.value)
_NOT_PEOPLE = (SubjectKind.LICENSE.value, SubjectKind.DEVICE.value)


class AddressShared(Conflict):
    """Other people use the address, or may use it: a pass would let them in, too."""

    code = "address-shared"


class TooManyDevicePasses(Conflict):
    """The user, or the installation, has the maximum number of device passes."""

    code = "too-many-device-passes"


@revisions.one_at_a_time
def create_device_pass(
    *, user: Any, domain: AuthorizedDomain, address: IPAddress, program: str, expires_at: datetime
) -> DevicePass:
    """Create a device pass for a program at the user's address, for at most 24 hours; an equal pass is replaced.

    Raises ValidationError, GrantOverruled, AddressShared, TooManyDevicePasses, DomainRemoved.
    """
    require_valid_end(expires_at, most=timedelta(hours=MAX_HOURS_OF_A_PASS))
    if not is_program(program) or not program.isprintable():
        raise ValidationError({"program": ValidationError(_("the name of a program is needed"), "invalid")})
    _refuse_overruled(user, domain)
    _refuse_shared(user, address)
    values = {"user": user, "domain": domain, "address": text_of(address), "program": program}
    replaced = [rows.deletion(each) for each in DevicePass.objects.filter(**values)]
    DevicePass.objects.filter(**values).delete()
    for entries, most in (
        (DevicePass.objects.filter(user=user), MAX_DEVICE_PASSES_OF_A_USER),
        (DevicePass.objects.all(), MAX_DEVICE_PASSES),
    ):
        room = room_for_one(entries, most)
        if room is None:
            raise TooManyDevicePasses(_("there are %(number)s device passes already: delete one first"), number=most)
        replaced += room
    row = DevicePass(created_by=user.username)
    rows.save(row, *DevicePass.segments, actor=user.username, replaced=replaced, expires_at=expires_at, **values)
    return row


def delete_device_pass(row: DevicePass, *, actor: str) -> None:
    """Delete a device pass: it ends at once. Raises Gone."""
    rows.delete(row, *DevicePass.segments, actor=actor)


def tried_at(address: IPAddress, at: datetime) -> Iterator[tuple[str, str]]:
    """Yield registered domain and program of requests from this address without valid credential in the last hour."""
    refused = AccessLog.objects.filter(
        client_key=client_key(text_of(address)), at__gte=at - _REFUSED_WITHIN, reason__in=_WITHOUT_CREDENTIAL
    )
    domains, seen = DomainTable(policy_source.domains()), set()
    for host, agent in refused.order_by("-at").values_list("host", "user_agent")[:_MAX_READ]:
        domain, program = domains.match(Host(host)) if host else None, program_of(agent)
        if domain is not None and program and (domain.name, program) not in seen:
            seen.add((domain.name, program))
            yield domain.name, program


def _refuse_overruled(user: Any, domain: AuthorizedDomain) -> None:
    refuse_denied(domain)
    if domain.access in {Access.TWO_FACTOR, Access.PHISHING_RESISTANT}:
        raise GrantOverruled(
            _("%(domain)s asks for a second factor or a passkey, which a program cannot prove"), domain=domain.name
        )
    groups = Group.objects.filter(Q(all_domains=True) | Q(authorized_domains=domain), users=user)
    listed = user.authorized_domains.filter(pk=domain.pk)
    if not (user.is_admin or user.all_domains or listed.exists() or groups.exists()):
        raise GrantOverruled(_("you may not enter %(domain)s yourself"), domain=domain.name)


def _refuse_shared(user: Any, address: IPAddress) -> None:
    """Raise AddressShared for carrier NAT, or if the log shows that other people were let in from the address."""
    if address in _CARRIER_NAT:
        raise AddressShared(
            _("%(address)s is shared by customers of a carrier: a pass would let them in as well"),
            address=text_of(address),
        )
    lately = AccessLog.objects.filter(client_key=client_key(text_of(address)), at__gte=timezone.now() - _SHARED_WITHIN)
    people = lately.filter(subject_kind__isnull=False).exclude(subject_kind__in=_NOT_PEOPLE)
    own = Q(subject_kind=SubjectKind.USER.value, subject_id=user.pk) | Q(subject_name__iexact=user.username)
    if people.exclude(own).exists():
        raise AddressShared(
            _("other people used %(address)s in the last 7 days: a pass would let them in as well"),
            address=text_of(address),
        )
