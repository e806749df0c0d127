"""Overlays of a shadow policy, published beside a live policy without a database."""

from gatewall.snapshot import codec
from gatewall.snapshot.overlay import Overlay, Replacement
from tests.support.cast import a_source


def publish_shadow(files, live, *names, percent=100, name="one", removed=(), **source):
    """Publish an overlay whose segments of these names are those of ``a_source``, compiled from this manifest."""
    rows = a_source(**source)
    segments = {
        each: Replacement(files.write_segment(codec.encode(each, rows[each]), "shadow"), digest_of(live, each))
        for each in names
    }
    overlay = Overlay(name, percent, 1000, segments, {each: digest_of(live, each) for each in removed})
    files.publish_overlay(overlay)
    return overlay


def digest_of(manifest, name):
    ref = manifest.segments.get(name)
    return ref.sha256 if ref else ""
