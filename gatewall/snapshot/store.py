"""Where the control plane gets its policy from: the committed rows, by way of the shared cache."""

from contextlib import suppress
from functools import partial

from django.db import Error

from gatewall import revisions
from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.snapshot.assembly import Assembly, SegmentData
from gatewall.snapshot.compiler import Moment, one_moment, segment_bytes
from gatewall.snapshot.files import PolicyFiles
from gatewall.snapshot.holder import PolicyRefused, PolicyUnavailable
from gatewall.snapshot.lineage import refuse_going_back, reusable
from gatewall.snapshot.manifest import ManifestRefused, SegmentRef


class DatabasePolicyStore:
    """Asks the database for the version on every request, and reads the segments that have changed.

    One indexed row is what makes the writer's next request see the change in every process, on every
    host, and a rolled-back change be seen by nobody.
    """

    def __init__(self, files: PolicyFiles) -> None:
        """``files`` say what is in force on this host: a database that was put back does not count against it."""
        self._files = files
        self._assembly = Assembly(files.patterns)

    def version(self) -> Version:
        """Return the committed version. Raises PolicyUnavailable."""
        try:
            return revisions.current()
        except Error as error:
            raise PolicyUnavailable(f"the database cannot be read ({type(error).__name__})") from error

    def load(self, version: Version) -> PolicySnapshot:
        """Return the policy of this version or a later one. Raises PolicyUnavailable, PolicyRefused."""
        try:
            before = self._files.in_force()  # first: nothing is published before it is committed
            with one_moment() as moment:
                refuse_going_back(before, moment.head)
                version = revisions.version_of(moment.head)
                published = reusable(before, version)
                segments = {
                    name: SegmentData(change, partial(self._read, moment, name, published.get(name)))
                    for name, change in moment.segments.items()
                }
                return self._assembly.build(version, segments)
        except Error as error:
            raise PolicyUnavailable(f"the rows cannot be read ({type(error).__name__})") from error
        except OSError as error:
            raise PolicyUnavailable(f"the published policy cannot be read ({type(error).__name__})") from error
        except ValueError as error:
            raise PolicyRefused(f"revision {version.revision} cannot be used: {error}") from error

    def _read(self, moment: Moment, name: str, published: SegmentRef | None) -> bytes | memoryview:
        """Return a segment from the file that all workers of the host share, if there is one, or from the rows."""
        if published is not None and published.change == moment.segments[name]:
            with suppress(OSError, ManifestRefused):
                return self._files.segment(published)
        return segment_bytes(moment, name)
