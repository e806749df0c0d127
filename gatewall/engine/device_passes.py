"""Device passes: programs at an address that a user lets into a domain without a credential. No I/O.

Whether a pass has ended, and whether its user may still enter, is judged for each request.
"""

from collections.abc import Iterable

from gatewall.engine.addresses import IPAddress, text_of
from gatewall.engine.devices import program_of
from gatewall.engine.expiry import is_live
from gatewall.engine.groups import GroupTable
from gatewall.engine.model import AccessRequest, Subject, SubjectKind
from gatewall.engine.users import UserState
from gatewall.engine.values import value


@value
class DevicePass:
    """A program, by the family of its user agent, at an address, for a domain until ``expires_at``."""

    id: int
    user_id: int
    domain: str
    address: str
    program: str
    expires_at: float | None

    def subject(self, user: UserState | None, groups: GroupTable) -> Subject | None:
        """Return the device as a subject without a name; None if its user may not enter the domain any more.

        Access rules about the user hold for the device.
        """
        if user is None or not user.is_active:
            return None
        scope = groups.scope(user.groups, all_domains=user.all_domains, domains=user.domains)
        if not (user.is_admin or scope.all_domains or self.domain in scope.domains):
            return None
        return Subject(
            SubjectKind.DEVICE,
            self.id,
            all_domains=False,
            domains=frozenset({self.domain}),
            user_id=user.id,
            group_ids=scope.ids,
        )


class DevicePassTable:
    """Device passes by their addresses."""

    def __init__(self, passes: Iterable[DevicePass] = ()) -> None:
        self._by_address: dict[str, tuple[DevicePass, ...]] = {}
        for each in passes:
            self._by_address[each.address] = (*self._by_address.get(each.address, ()), each)
        self.has_any = bool(self._by_address)

    def of(self, request: AccessRequest, domain: str) -> Iterable[DevicePass]:
        """Yield the live passes of the client's program for this domain; none if the client may be the proxy."""
        found = self._at(request.client) if request.allowlist_applies else ()
        program = program_of(request.header("user-agent")) if found else ""
        for each in found:
            if each.domain == domain and each.program == program and is_live(each.expires_at, request.at):
                yield each

    def _at(self, client: IPAddress) -> tuple[DevicePass, ...]:
        return self._by_address.get(text_of(client), ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DevicePassTable) and self._by_address == other._by_address

    __hash__ = None  # type: ignore[assignment]  # compared by its rows
