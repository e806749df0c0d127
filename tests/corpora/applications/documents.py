"""Wikis, notes, blogs, forges, forums, mail and tasks: what people write."""

import base64
import json

from tests.corpora.applications.content import Content, as_html
from tests.corpora.applications.wire import Sent, Shape, as_json, form, get, parts, segment


def _edit_file(content: Content) -> Sent:
    name, text = content.code()
    return form(f"/alice/site/_edit/main/{segment(name)}", _csrf=content.id(), tree_path=name, content=text,
                commit_summary=content.title(), commit_choice="direct")  # fmt: skip


def _contents(content: Content) -> Sent:
    name, text = content.code()
    return as_json("PUT", f"/api/v1/repos/alice/site/contents/{segment(name)}",
                   {"content": base64.b64encode(text.encode()).decode(), "message": content.title(), "branch": "main"})  # fmt: skip


def _attachment(uri: str, name: str) -> Shape:
    def shape(content: Content) -> Sent:
        file_name, text = content.code()
        if content.number(3) == 1:
            return parts(uri, {"_csrf": content.id()}, {name: (content.file_name(), "image/png", content.data())})
        return parts(uri, {"_csrf": content.id()}, {name: (file_name, "text/plain", text.encode())})

    return shape


def _lexical(content: Content) -> Sent:
    markdown = content.markdown()
    nodes = [
        {"type": "paragraph", "children": [{"type": "extended-text", "format": 0, "text": each}]}
        for each in markdown.split("\n\n")
    ]
    post = {"title": content.title(), "lexical": json.dumps({"root": {"type": "root", "children": nodes}}),
            "html": as_html(markdown), "tags": [{"name": content.title()}]}  # fmt: skip
    return as_json("PUT", f"/ghost/api/admin/posts/{content.id()}/?formats=lexical", {"posts": [post]})


def _blocks(content: Content) -> Sent:
    html = content.page().replace("<p ", "<!-- wp:paragraph -->\n<p ").replace("</p>", "</p>\n<!-- /wp:paragraph -->")
    return as_json(
        "POST",
        f"/wp-json/wp/v2/posts/{content.number()}",
        {"title": content.title(), "content": html, "status": "publish"},
    )


def _graphql(operation: str, query: str, uri: str = "/graphql") -> Shape:
    return lambda content: as_json("POST", uri, {"operationName": operation, "query": query, "variables": {
        "title": content.title(), "content": content.markdown(), "id": content.number(), "tags": [content.title()]}})  # fmt: skip


def _update(content: Content) -> Sent:
    return as_json(
        "POST", "/api/documents.update", {"id": content.id(), "title": content.title(), "text": content.markdown()}
    )


_WIKI = """mutation ($content: String!, $id: Int!, $tags: [String]!, $title: String!) {
  pages {
    update(id: $id, content: $content, tags: $tags, title: $title) {
      responseResult { succeeded errorCode slug message }
      page { updatedAt }
    }
  }
}"""
APPLICATIONS: dict[str, tuple[Shape, ...]] = {
    "Gitea and Forgejo": (
        lambda content: form(f"/alice/site/issues/{content.number()}/comments", _csrf=content.id(), content=content.comment(), status=""),
        lambda content: form("/alice/site/issues/new", _csrf=content.id(), title=content.title(), content=content.markdown(), label_ids="1,2"),
        _edit_file, _contents, _attachment("/alice/site/issues/attachments", "file"),
        lambda content: as_json("PATCH", "/api/v1/repos/alice/site/pulls/7", {"title": content.title(), "body": content.markdown()}),
        lambda content: form("/markup", _csrf=content.id(), mode="comment", text=content.markdown(), context="/alice/site"),
    ),
    "GitLab": (
        lambda content: as_json("POST", "/alice/site/notes?target_id=1", {"note": {"noteable_type": "Issue", "note": content.comment()}}),
        lambda content: as_json("POST", "/api/graphql", [{"operationName": "updateIssue", "variables": {"input": {"description": content.markdown()}},
            "query": "mutation updateIssue($input: UpdateIssueInput!) {\n  issuableSetDescription: updateIssue(input: $input) {\n    issuable: issue {\n      id\n      descriptionHtml\n    }\n    errors\n  }\n}\n"}]),
        _attachment("/uploads/user", "file"),
    ),
    "BookStack": (
        lambda content: form(f"/books/guide/page/{content.number()}", _token=content.id(), name=content.title(), html=content.page(), summary=""),
        lambda content: as_json("POST", "/comment/12", {"html": content.page(), "parent_id": None}),
        _attachment("/images/gallery", "file"),
    ),
    "Wiki.js": (_graphql("update", _WIKI), lambda content: get(f"/en/{segment(content.title())}")),
    "Outline": (_update, lambda content: as_json("POST", "/api/documents.search", {"query": content.title(), "limit": 25})),
    "DokuWiki": (
        lambda content: form("/doku.php", id="start", rev="0", prefix=".", wikitext=content.markdown(), summary=content.title(), sectok=content.id()[:8]),
        lambda content: form("/lib/exe/ajax.php", call="linkwiz", q=content.title()),
    ),
    "Ghost": (_lexical, lambda content: as_json("POST", "/members/api/comments/", {"comments": [{"post_id": content.id(), "html": f"<p>{content.sentence()}</p>"}]})),
    "WordPress": (
        _blocks,
        lambda content: form("/wp-comments-post.php", comment=content.comment(), author=content.person(), email="a@cloud.example", url="https://cloud.example", submit="Post Comment", comment_post_ID="7"),
        lambda content: form("/wp-admin/admin-ajax.php", action="heartbeat", _nonce=content.id()[:10], screen_id="post", has_focus="true"),
        lambda content: form("/wp-admin/post.php", post_title=content.title(), content=content.page(), action="editpost", _wp_http_referer="/wp-admin/post.php?post=7&action=edit"),
        _attachment("/wp-admin/async-upload.php", "async-upload"),
    ),
    "Discourse": (
        lambda content: form("/posts", raw=content.markdown(), unlist_topic="false", category="4", topic_id="12", archetype="regular", typing_duration_msecs="9000"),
        lambda content: form("/t/12", title=content.title(), category_id="4"),
    ),
    "Roundcube": (
        lambda content: form("/?_task=mail&_action=send", _token=content.id(), _to=f"{content.person()} <info@cloud.example>", _subject=content.title(), _message=content.page(), _is_html="1"),
        lambda content: form("/?_task=mail&_action=send", _token=content.id(), _to="info@cloud.example", _subject=content.title(), _message=content.sentence() + "\n\nOn Monday, Alice wrote:\n> From: Bob\n> To: Alice\n> Subject: Re: notes\n> " + content.sentence(), _is_html="0"),
    ),
    "Joplin Server": (
        lambda content: Sent("PUT", f"/api/items/root:/{content.id()}.md:/content", f"{content.title()}\n\n{content.markdown()}\n\nid: {content.id()}\ntype_: 1".encode(), {"Content-Type": "application/octet-stream"}, "Joplin/2.14"),
        lambda content: as_json("POST", "/api/sessions", {"email": "alice@cloud.example", "password": content.id() + "'\"<>&"}),
    ),
    "Kanboard": (
        lambda content: as_json("POST", "/jsonrpc.php", {"jsonrpc": "2.0", "method": "createTask", "id": content.number(), "params": {"title": content.title(), "description": content.markdown(), "project_id": 1}}),
        lambda content: form("/?controller=CommentController&action=save&task_id=7", csrf_token=content.id(), comment=content.comment(), task_id="7"),
    ),
    "Mattermost": (
        lambda content: as_json("POST", "/api/v4/posts", {"channel_id": content.id(), "message": content.comment(), "props": {"disable_group_highlight": True}, "metadata": {}}),
        lambda content: as_json("POST", "/api/v4/posts/search", {"terms": f"from:{content.person()} {content.title()}", "is_or_search": False}),
    ),
    "Matrix Synapse": (
        lambda content: as_json("PUT", f"/_matrix/client/v3/rooms/!{content.id()[:8]}:cloud.example/send/m.room.message/m{content.number()}", {"msgtype": "m.text", "body": content.comment(), "format": "org.matrix.custom.html", "formatted_body": content.page()}),
        lambda content: as_json("POST", "/_matrix/client/v3/keys/query", {"device_keys": {f"@alice{content.number()}:cloud.example": []}, "timeout": 10000}),
    ),
    "Mastodon": (
        lambda content: as_json("POST", "/api/v1/statuses", {"status": content.sentence() + " #selfhosting", "visibility": "public", "language": "en"}),
        lambda content: as_json("POST", "/inbox", {"@context": ["https://www.w3.org/ns/activitystreams", {"ostatus": "http://ostatus.org#"}], "type": "Create", "actor": "https://other.example/users/bob", "object": {"type": "Note", "content": content.page(), "to": ["https://www.w3.org/ns/activitystreams#Public"]}}, kind="application/activity+json"),
    ),
    "Etherpad and HedgeDoc": (
        lambda content: Sent("POST", "/new", content.markdown().encode(), {"Content-Type": "text/markdown"}),
        lambda content: form("/api/1.3.0/setText", apikey=content.id(), padID="notes", text=content.markdown()),
    ),
}  # fmt: skip
