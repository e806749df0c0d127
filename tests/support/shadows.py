"""Planes in this process that follow the shadow policy, without threads or a CPU budget."""

from collections.abc import Callable

from django.conf import settings

from gatewall.agent.shadow_publisher import ShadowPublisher
from gatewall.gate.shadow_follower import ShadowFollower, reports_folder
from gatewall.publication import control_plane
from gatewall.publication.publisher import publish
from gatewall.snapshot.host_paths import policy_files, run_folder
from tests.support.dialects import ControlPlane, DataPlane, Given, Question


class ShadowedPlane:
    """A plane and the follower of its process."""

    def __init__(self, name: str) -> None:
        self.plane: ControlPlane | DataPlane
        if name == "control":
            self.plane = control = ControlPlane()
            gate, built = control._endpoint.gate, control_plane._sources[0][2].built
        else:
            self.plane = data = DataPlane()
            gate, built = data._gate, data._policies.built
        assert gate.shadow is not None
        self.shadow = gate.shadow
        self.follower = ShadowFollower(
            policy_files(settings.CONFIG), built, self.shadow, reports_folder(run_folder(settings.CONFIG.home))
        )

    def follow(self) -> None:
        self.follower._reported_at = float("-inf")
        self.follower.turn()

    def __call__(self, question: Question) -> Given:
        """Answer, and then evaluate the shadow policy."""
        self.shadow._saved = 0.1
        answer = self.plane(question)
        while self.shadow.work():
            pass
        return answer

    def close(self) -> None:
        self.plane.close()


class _EagerPublisher(ShadowPublisher):
    """The agent's publisher, which publishes the live policy first and recompiles at once."""

    def turn(self) -> None:
        publish(self._files)
        self._next_at = float("-inf")
        super().turn()


def a_publisher(change: Callable[[str], object]) -> ShadowPublisher:
    """Return a publisher of this host that applies documents with ``change``."""
    files = policy_files(settings.CONFIG)
    return _EagerPublisher(files, run_folder(settings.CONFIG.home), "node-1", change)
