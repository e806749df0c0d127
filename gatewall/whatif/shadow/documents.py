"""The document of the shadow policy: check it, try it out, and apply it."""

from django.db import transaction

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.models import PolicyRevision
from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import revisions
from gatewall.whatif.shadow import services
from policies.document.applying import apply
from policies.document.reading import read
from policies.lists.importing import ACTOR as IMPORTED
from policies.models import AUTO_BAN

_ACTOR = "shadow"


class NoShadowPolicy(Conflict):
    """There is no shadow policy."""

    code = "no-shadow-policy"


class PolicyMovedOn(Exception):
    """The policy was changed after the revision that the caller knows."""


def try_document(text: str) -> None:
    """Apply a document, in a transaction that the caller rolls back. Raises DocumentRefused, what services refuse."""
    apply(read(text.encode()), actor=_ACTOR, force=True)


def set_document(*, document: str, percent: int, actor: str) -> ShadowPolicy:
    """Set the shadow policy. Raises DocumentRefused, and what the services refuse when the document is applied."""
    parsed = read(document.encode())
    with revisions.rolled_back():
        apply(parsed, actor=_ACTOR, force=True)
    return services.set_shadow(document=document, percent=percent, actor=actor)


@revisions.one_at_a_time
def promote(*, actor: str, caller: Caller | None, if_revision: int | None, force: bool) -> PolicyRevision | None:
    """Apply the document of the shadow policy, in one revision, and remove the shadow policy.

    None if the policy is that of the document already. Raises NoShadowPolicy, PolicyMovedOn, WouldLockYouOut, and what
    the services refuse; then nothing is changed.
    """
    shadow = services.current()
    if shadow is None:
        raise NoShadowPolicy(_("there is no shadow policy"))
    if if_revision is not None and _moved_on_since(if_revision):
        raise PolicyMovedOn
    with transaction.atomic():
        made = apply(read(shadow.document.encode()), actor=actor, caller=caller, force=force)
        services.remove()
    return made


def _moved_on_since(revision: int) -> bool:
    """True if somebody changed the policy after this revision. Automatic bans and downloads of lists do not count."""
    later = PolicyRevision.objects.filter(number__gt=revision).exclude(actor__in=(AUTO_BAN, IMPORTED))
    return revision > revisions.current().revision or later.exists()
