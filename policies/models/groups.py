"""Groups of users."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.groups import ADMINS
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies import validators
from policies.models.domains import AuthorizedDomain


class Group(Record):
    """A named set of users, who may enter its domains in addition to their own. Members are stored with the users."""

    name = models.CharField(max_length=64, unique=True, validators=[validators.validate_group_name])
    description = models.CharField(max_length=500, blank=True)
    all_domains = models.BooleanField(default=False)
    authorized_domains = models.ManyToManyField(AuthorizedDomain, blank=True, related_name="groups")

    recorded = Recorded(
        Resource.GROUPS,
        api_fields("name", "description", "all_domains", "authorized_domains"),
        relations=("authorized_domains",),
    )
    segments = (Segment.GROUPS,)

    class Meta:
        verbose_name = _("group")
        verbose_name_plural = _("groups")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=ADMINS), name="group_is_not_called_admins"),
        ]

    def __str__(self) -> str:
        return self.name
