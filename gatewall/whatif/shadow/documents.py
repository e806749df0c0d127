"""The document of the shadow policy: check it, try it out, and apply it."""

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.clientip import Caller
from gatewall.kernel.refusals import Conflict
from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import revisions
from gatewall.whatif.backtest.proposals import WholeDocument
from gatewall.whatif.plans.applying import Applied, Conditions, PolicyMovedOn, apply_proposal
from gatewall.whatif.shadow import services
from policies.document.applying import apply
from policies.document.reading import read

_ACTOR = "shadow"


class NoShadowPolicy(Conflict):
    """There is no shadow policy."""

    code = "no-shadow-policy"


def try_document(text: str) -> None:
    """Apply a document, in a transaction that the caller rolls back. Raises DocumentRefused, errors of services."""
    apply(read(text.encode()), actor=_ACTOR, force=True)


def set_document(*, document: str, percent: int, actor: str) -> ShadowPolicy:
    """Set the shadow policy. Raises DocumentRefused, and the errors of the services that apply the document."""
    parsed = read(document.encode())
    with revisions.rolled_back():
        apply(parsed, actor=_ACTOR, force=True)
    return services.set_shadow(document=document, percent=percent, actor=actor)


@revisions.one_at_a_time
def promote(
    shadow: ShadowPolicy | None, *, actor: str, caller: Caller | None, if_revision: int | None, conditions: Conditions
) -> Applied:
    """Apply the document of the shadow policy, in one revision, and remove the shadow policy.

    ``if_revision``: the revision that the caller knows; None: the one at which the shadow policy was set. Raises
    NoShadowPolicy, PolicyMovedOn (also if the shadow policy was replaced), and the errors of ``apply_proposal``; then
    nothing is changed.
    """
    if shadow is None:
        raise NoShadowPolicy(_("there is no shadow policy"))
    if not services.remove(shadow):
        raise PolicyMovedOn
    base = shadow.revision if if_revision is None else if_revision
    proposal = WholeDocument.of(read(shadow.document.encode()))
    return apply_proposal(proposal, base, actor=actor, caller=caller, conditions=conditions)
