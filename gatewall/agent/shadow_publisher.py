"""Thread that compiles the shadow policy, publishes its overlay, and collects the reports of the processes about it."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from django.core.exceptions import ValidationError
from django.utils import timezone
from rest_framework.exceptions import APIException

from gatewall.agent.loop import Loop
from gatewall.gate.shadow_follower import read_reports, reports_folder
from gatewall.kernel.refusals import Refusal
from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import system_settings
from gatewall.publication.compiler import consistent_read
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.manifest import Manifest, ManifestRefused, SegmentRef
from gatewall.snapshot.overlay import Overlay, Replacement
from gatewall.whatif.hypothetical import Effect, effect_of
from gatewall.whatif.shadow import services

logger = logging.getLogger(__name__)

_CHECKS = 10
_CHECK_SECONDS = 0.1
_PAUSE_FACTOR = 10
"""The pause after a compilation is this many times its duration, because applying a change holds the policy lock."""
_LEAST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two compilations; a document that cannot be compiled is tried again after the longest."""
_REFUSED = (Refusal, ValidationError, APIException, ValueError)
_BUGS = (TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
Change = Callable[[str], object]


class ShadowPublisher(Loop):
    """Publishes the shadow policy of this host, and removes it."""

    name = "shadow-publisher"
    every_seconds = 1.0
    failing = "the shadow policy is not published"
    recovered = "publishing the shadow policy again"

    def __init__(self, files: PolicyFiles, run: Path, node: str, change: Change) -> None:
        """``change`` applies a document, in a transaction that is rolled back."""
        super().__init__()
        self._files = files
        self._reports = reports_folder(run)
        self._node = node
        self._change = change
        self._next_at = float("-inf")
        self._tried = ""
        self._has_failed = False

    def _work(self) -> None:
        shadow = services.current()
        if shadow is None:
            if self._files.overlay_stamp() is not None:
                with self._files.publishing():
                    self._files.publish_overlay(None)
            return
        self._publish(shadow)
        services.report(shadow.key, self._node, timezone.now(), read_reports(self._reports))

    def _is_idle(self) -> bool:
        return services.current() is None and self._files.overlay_stamp() is None

    def _publish(self, shadow: ShadowPolicy) -> None:
        manifest, overlay = self._files.in_force(), self._overlay()
        if manifest is None or not manifest.is_of_this_release:
            return
        limits = shadow.percent, system_settings.current().shadow_cpu_percent
        if overlay is not None and overlay.id == str(shadow.key) and self._is_current(overlay, manifest):
            if limits != (overlay.percent, overlay.cpu_percent):
                self._write(Overlay(overlay.id, *limits, overlay.segments, overlay.removed))
            return
        began = time.monotonic()
        if began >= self._next_at or self._tried != str(shadow.key):
            self._tried = str(shadow.key)
            self._compile(shadow, limits)
            now = time.monotonic()
            pause = max(_PAUSE_FACTOR * (now - began), _LEAST_PAUSE)
            self._next_at = now + (_LONGEST_PAUSE if self._has_failed else min(pause, _LONGEST_PAUSE))

    def _compile(self, shadow: ShadowPolicy, limits: tuple[int, int]) -> None:
        """Apply the document in a transaction that is rolled back, and publish the segments that it changes."""
        base: dict[str, str] = {}

        def change() -> None:
            with consistent_read() as moment:
                base.update(moment.segments)
            self._change(shadow.document)

        problem = ""
        try:
            effect = effect_of(change)
            overlay = self._overlay_of(shadow, limits, effect, base)
            if overlay is None:
                return  # the live policy is being published: the next turn compiles again
            self._write(overlay)
        except (*_REFUSED, *_BUGS) as error:
            problem = f"it cannot be compiled: {error or type(error).__name__}"
            if isinstance(error, _BUGS):
                logger.exception("shadow policy: a bug")
            with self._files.publishing():
                self._files.publish_overlay(None)
        self._has_failed = bool(problem)
        services.compiled(shadow.key, timezone.now(), problem, self._node)

    def _overlay_of(
        self, shadow: ShadowPolicy, limits: tuple[int, int], effect: Effect, base: dict[str, str]
    ) -> Overlay | None:
        """Return the overlay once the policy that the change was applied to is published; None if it is not in time."""
        removed = base.keys() - effect.names
        touched = [*effect.segments, *removed]
        for _ in range(_CHECKS):
            manifest = self._files.in_force()
            live = manifest.segments if manifest is not None else {}
            if all(_change_of(live.get(name)) == base.get(name) for name in touched):
                digests = {name: ref.sha256 for name, ref in live.items()}
                return self._stored(shadow, limits, effect, digests, {name: digests[name] for name in removed})
            self._stop.wait(_CHECK_SECONDS)
        return None

    def _stored(
        self,
        shadow: ShadowPolicy,
        limits: tuple[int, int],
        effect: Effect,
        digests: dict[str, str],
        removed: dict[str, str],
    ) -> Overlay:
        segments = {}
        with self._files.publishing():
            for name, data in effect.segments.items():
                ref = self._files.write_segment(bytes(data.read()), data.identity)
                if ref.sha256 != digests.get(name):
                    segments[name] = Replacement(ref, digests.get(name, ""))
        return Overlay(str(shadow.key), *limits, segments, removed)

    def _is_current(self, overlay: Overlay, manifest: Manifest) -> bool:
        digests = {name: ref.sha256 for name, ref in manifest.segments.items()}
        return overlay.is_of(digests) and all(self._files.has(each.ref) for each in overlay.segments.values())

    def _overlay(self) -> Overlay | None:
        try:
            return self._files.overlay()
        except ManifestRefused:
            return None

    def _write(self, overlay: Overlay) -> None:
        with self._files.publishing():
            self._files.publish_overlay(overlay)


def _change_of(ref: SegmentRef | None) -> str | None:
    return ref.change if ref is not None else None
