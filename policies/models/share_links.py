"""Share links, and the browsers that opened them."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies import access_conditions as conditions
from policies.models.domains import AuthorizedDomain

MAX_USES = 100


def reading_methods() -> list[str]:
    """Return the default methods of a share link: read-only."""
    return ["GET", "HEAD"]


class ShareLink(Record):
    """A link that lets guests into a domain, or a path of it, until ``expires_at``. Stores only the token's digest."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    # Cascade: without its domain, the link would apply to every host.
    domain = models.ForeignKey(AuthorizedDomain, on_delete=models.CASCADE, related_name="share_links")
    path_prefix = models.CharField(max_length=500, null=True, blank=True, validators=[conditions.validate_path_prefix])
    methods: "models.JSONField[list[str], list[str]]" = models.JSONField(
        default=reading_methods, blank=True, validators=[conditions.validate_methods]
    )
    expires_at = models.DateTimeField()
    max_uses = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_USES)],
        help_text=_(
            "How many browsers may open it. The link lets in the first browsers that open it and refuses all others."
        ),
    )

    recorded = Recorded(
        Resource.SHARE_LINKS,
        api_fields("name", "prefix", "domain", "path_prefix", "methods", "expires_at", "max_uses"),
    )
    segments = (Segment.SHARE_LINKS,)

    class Meta:
        verbose_name = _("share link")
        verbose_name_plural = _("share links")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class ShareLinkOpening(models.Model):
    """A browser that opened a share link and is bound to it. ``number`` counts the openings of a link from 1."""

    link = models.ForeignKey(ShareLink, on_delete=models.CASCADE, related_name="openings")
    number = models.PositiveSmallIntegerField()
    opened_at = models.DateTimeField()
    client_ip = models.CharField(max_length=45)
    program = models.CharField(max_length=60)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["link", "number"], name="share_link_use_counts_once")]
