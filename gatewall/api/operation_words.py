"""Summary and description of an operation, for the OpenAPI document."""

from gatewall.api.scopes import Scope

_SUMMARIES = {
    "list": "List {many}",
    "create": "Create {one}",
    "retrieve": "Show {one}",
    "update": "Change {one}",
    "destroy": "Delete {one}",
}
_NOTES = {
    "list": "Pages of `page_size` rows, or every row with `all=true`.",
    "update": "Fields that are not sent stay as they are. With `If-Match` only if nobody changed the row since.",
    "destroy": "With `If-Match` only if nobody changed the row since.",
}


def of_resource(doc: str, nouns: tuple[str, str], action: str) -> tuple[str, str]:
    """Return summary and description of an operation on rows: ``nouns`` are "a user" and "users"."""
    one, many = nouns
    summary = _SUMMARIES[action].format(one=one, many=many)
    return f"{summary}.", _joined(doc, _NOTES.get(action, ""))


def of_method(doc: str) -> tuple[str, str]:
    """Return summary and description of any other operation: the first line of its docstring, and the rest."""
    summary, _, rest = doc.partition("\n")
    return summary.strip(), rest.strip()


def with_access(description: str, *, is_public: bool, scope: Scope | None) -> str:
    """Return the description, with the credential and scope that the operation needs."""
    if is_public:
        access = "Needs no credential."
    elif scope is None:
        access = "For signed-in people: API tokens are refused."
    else:
        access = f"An API token needs the scope `{scope.value}`."
    return _joined(description, access)


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())
