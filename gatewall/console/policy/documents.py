"""Policy documents on a page: the initial text of a form, and the errors of a document."""

from typing import Any

from django.http import Http404

from gatewall.api.translation import translated
from gatewall.whatif.shadow import services as shadow
from policies.document.document import DocumentRefused
from policies.document.export import export


def faults_shown(error: DocumentRefused) -> list[dict[str, Any]]:
    """Return every error of a document, with its place, for ``console/_document_errors.html``."""
    return [
        {"line": each.line, "column": each.column, "pointer": each.pointer or "/", "message": translated(each.message)}
        for each in error.errors
    ]


def document_named(name: str) -> str:
    """Return the document in force or that of the shadow policy; empty without a name. Raises Http404."""
    if name == "current":
        return export().canonical().decode()
    if name == "shadow" and (set_one := shadow.current()) is not None:
        return set_one.document
    if name:
        raise Http404
    return ""
