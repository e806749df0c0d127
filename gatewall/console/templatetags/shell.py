"""Template tags of the console's frame: sidebar and breadcrumbs."""

from typing import Any

from django import template
from django.http import HttpRequest
from django.template import Context

from gatewall import __version__
from gatewall.api.request_notes import RequestNote
from gatewall.console.help import help_page
from gatewall.console.shell import navigation

register = template.Library()
_SIDEBAR = RequestNote[list[navigation.ShownSection]]("sidebar")


@register.inclusion_tag("console/shell/sidebar.html", takes_context=True)
def sidebar(context: Context) -> dict[str, Any]:
    """Render the sidebar, with the current page's section open."""
    return {"sections": _sections(context["request"]), "version": __version__}


@register.inclusion_tag("console/shell/breadcrumbs.html", takes_context=True)
def breadcrumbs(context: Context) -> dict[str, Any]:
    """Render the breadcrumbs of the page (section, item, row and title), and the link to its help."""
    sections = _sections(context["request"])
    section = next((each for each in sections if each.is_current), None)
    link = next((each for each in section.links if each.is_current), None) if section else None
    is_here = link is not None and (link.url == context["request"].path or link.label == str(context.get("title")))
    is_item = bool(link and (is_here or context.get("is_single")))
    row = context.get("original") or context.get("object")
    last = "" if is_item else str(row) if row else str(context.get("title") or "")
    return {
        "section": section.label if section else "",
        "link": link,
        "is_item": is_item,
        "last": last,
        "help": help_page.url_for(navigation.current_item(context["request"])),
    }


def _sections(request: HttpRequest) -> list[navigation.ShownSection]:
    """Return the sidebar of a page, from which its breadcrumbs are also made."""
    found = _SIDEBAR.get(request)
    if found is None:
        found = navigation.sidebar(request)
        _SIDEBAR.set(request, found)
    return found
