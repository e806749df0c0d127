"""Saved views of the log."""

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """A named query of the log explorer, for its owner or shared with every admin.

    ``owner`` has no database constraint: Django deletes the views with their owner.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_constraint=False, related_name="saved_views"
    )
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=4000, blank=True)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_has_its_own_name")]

    def __str__(self) -> str:
        return self.name
