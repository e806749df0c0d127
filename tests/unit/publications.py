"""Published policy without a database: the rows of the cast as the files that an agent writes."""

import uuid
from dataclasses import replace

from gatewall.credentials.manifest_key import manifest_key
from gatewall.engine.snapshot import Version
from gatewall.snapshot import codec
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.manifest import Manifest, SegmentRef
from tests.support.cast import NOW, a_source

KEY = manifest_key("the secret key of the tests")
EPOCH = "0d6e3c8e-2f4b-4f6e-9d3c-1a2b3c4d5e6f"
OTHER_EPOCH = "7c1f0f6a-55b0-4f1c-8a60-9b1f4f6d2c11"
DIGEST = "a1" * 32


def a_version(revision=1, **parts):
    return replace(Version(revision, epoch=EPOCH), **parts)


def a_manifest(revision=1, *, segments=None, parent_epoch="", **version):
    segments = {"settings": SegmentRef("never", DIGEST, 100)} if segments is None else segments
    return Manifest(a_version(revision, **version), parent_epoch, "lineage", NOW, segments)


def some_files(folder, key=KEY):
    return PolicyFiles(folder / "policy", key)


def publish(files, revision=1, *, parent_epoch="", epoch=EPOCH, reloads=0, **source):
    """Publish the policy of ``a_source`` as this revision, and return its manifest."""
    rows = a_source(**source)
    segments = {name: files.write_segment(codec.encode(name, each), str(uuid.uuid4())) for name, each in rows.items()}
    manifest = a_manifest(revision, segments=segments, parent_epoch=parent_epoch, epoch=epoch, reloads=reloads)
    files.publish(manifest)
    return manifest


class Observer:
    """Records its calls."""

    def __init__(self):
        self.loads, self.rejections = [], []
        self._reloaded = False

    def reload(self):
        self._reloaded = True

    def loaded(self, policy):
        self.loads.append((policy.version.revision, self._reloaded))
        self._reloaded = False

    def rejected(self, why):
        self.rejections.append(why)


def revision(policies):
    """Refresh the policy, and return its revision in memory."""
    policies.refresh()
    policy = policies.current()
    return policy and policy.version.revision


def put(path, data):
    """Replace a file by a new one with these bytes: readers check the identity of the file."""
    new = path.with_suffix(".put")
    new.write_bytes(data)
    new.replace(path)
