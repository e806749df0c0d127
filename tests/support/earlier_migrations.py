"""The migrations of 0.1.0, and the earlier ones that they replace."""

from django.db.migrations.loader import MigrationLoader

FIRST = MigrationLoader(None).replacements
EARLIER = sorted(node for migration in FIRST.values() for node in migration.replaces)
