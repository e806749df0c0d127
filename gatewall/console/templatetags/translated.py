"""The template filter ``translated``: a message of a service in the operator's language."""

from django import template

from gatewall.api.translation import translated

register = template.Library()
register.filter("translated", translated)
