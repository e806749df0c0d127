"""Base class of the initial migrations: Django's models are rendered once per migration."""

from typing import Any

from django.db.migrations import Migration
from django.db.migrations.state import ProjectState


class FirstMigration(Migration):
    """A migration with CreateModel operations only, in a third of the CPU time of Django's.

    After each operation, Django renders all models related to the new one again: nearly all, through the user.
    The table of a model does not depend on later models, so the state after the last operation serves for all.
    """

    def apply(
        self,
        project_state: ProjectState,
        schema_editor: Any,
        collect_sql: bool = False,  # noqa: FBT001, FBT002 - Django's
    ) -> ProjectState:
        """Create the tables, and return the state after all operations."""
        if collect_sql:
            return super().apply(project_state, schema_editor, collect_sql)
        after = project_state.clone()
        vars(after).pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(self.app_label, after)
        for operation in self.operations:
            operation.database_forwards(self.app_label, schema_editor, project_state, after)
        return after
