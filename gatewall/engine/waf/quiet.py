"""Skip scanning headers and cookies again, with another URI, in which no built-in rule matched. No I/O.

No pattern matches across two values (``lines.py``), so scanning shared and varying values separately has the same
result as one scan of all. Bounds that the values of a request share are checked: a request that might exceed them is
inspected as a whole.
"""

from gatewall.engine.model import AccessRequest
from gatewall.engine.shared import Shared
from gatewall.engine.waf.plain_headers import is_unusual
from gatewall.engine.waf.plain_target import Asked, plain_texts
from gatewall.engine.waf.reading import MAX_HEADER, add_referer, add_target
from gatewall.engine.waf.scanning import Scanner
from gatewall.engine.waf.values import MAX_CODED, MAX_FORMED, MAX_INSPECTED, MAX_SIGNS, VALUE_COST, Values


def asked_of(request: AccessRequest, shared: Shared) -> Asked:
    """Return the varying parts of a request."""
    referer, others = None, []
    for place in shared.varying:
        name, value = request.headers[place]
        if name == "referer":
            referer = value
        else:
            others.append(value)
    return Asked(request.uri, request.host, referer, ",".join(others))


def is_quiet(request: AccessRequest, shared: Shared, scanner: Scanner) -> bool:
    """True if no rule matched the shared headers and cookies of the request, and none matches the rest.

    The URI must have no encoding: rules on encoding tricks inspect it as sent.
    """
    return shared.quiet_for is scanner and is_quiet_in(asked_of(request, shared), shared, scanner)


def is_quiet_in(asked: Asked, shared: Shared, scanner: Scanner) -> bool:
    """Return the same as ``is_quiet``, for a request that was not parsed."""
    if shared.quiet_for is not scanner:
        return False
    texts = plain_texts(asked)
    if texts is not None and not is_unusual(asked.others):
        text = "\n".join(texts).encode("latin-1")
        left = MAX_INSPECTED - len(text) - len(texts) * (VALUE_COST - 1) - 1
        return left >= shared.quiet_room and not scanner.scan(text)
    values = _varying_values(asked)
    return values is not None and values.left >= shared.quiet_room and not scanner.scan(values.joined())


def note_quiet(request: AccessRequest, shared: Shared, scanner: Scanner, values: Values) -> None:
    """Record that a scan of all values of a request found nothing, and the room that the shared ones need."""
    varying = _varying_values(asked_of(request, shared))
    if varying is not None and not values.is_noted:
        shared.quiet_for, shared.quiet_room = scanner, varying.left - values.left


def _varying_values(asked: Asked) -> Values | None:
    """Return the values of the URI and of the headers that are not shared; None if they use up bounds of others."""
    values = Values()
    add_target(values, asked)
    if asked.referer is not None:
        if len(asked.referer) > MAX_HEADER:
            return None
        add_referer(values, asked, asked.referer)
    if is_unusual(asked.others):
        return None
    bounds = values.signs_left, values.formed_left, values.coded_left
    is_alone = bounds == (MAX_SIGNS, MAX_FORMED, MAX_CODED) and not (values.is_noted or values.has_texts)
    return values if is_alone else None
