"""The filter ``in_words``: a sentence of a service in the operator's language."""

from django import template

from gatewall.console.said import in_words

register = template.Library()
register.filter("in_words", in_words)
