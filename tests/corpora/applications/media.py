"""Photos, films, music, feeds, recipes and documents."""

from tests.corpora.applications.content import Content
from tests.corpora.applications.wire import Sent, Shape, as_json, form, get, parts, segment


def _asset(content: Content) -> Sent:
    return parts("/api/assets", {"deviceAssetId": f"{content.file_name()}-{content.number()}", "deviceId": "WEB", "fileCreatedAt": "2026-11-23T09:00:00.000Z", "isFavorite": "false"},
                 {"assetData": (content.file_name(), "image/heic", content.data(30_000))})  # fmt: skip


def _document(content: Content) -> Sent:
    return parts("/api/documents/post_document/", {"title": content.title(), "created": "2026-11-23"},
                 {"document": (content.file_name(), "application/pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" + content.data(20_000))})  # fmt: skip


def _playback(content: Content) -> Sent:
    return as_json("POST", "/Sessions/Playing/Progress", {"ItemId": content.id(), "PositionTicks": content.number(10**9), "PlayMethod": "DirectPlay", "CanSeek": True,
                   "NowPlayingQueue": [{"Id": content.id(), "PlaylistItemId": "playlistItem0"}]})  # fmt: skip


APPLICATIONS: dict[str, tuple[Shape, ...]] = {
    "Immich": (
        _asset,
        lambda content: as_json("POST", "/api/search/smart", {"query": content.title(), "page": 1, "withExif": True}),
        lambda content: as_json("PATCH", f"/api/albums/{content.id()}", {"albumName": content.title(), "description": content.sentence()}),
        lambda content: as_json("POST", "/api/assets/bulk-upload-check", {"assets": [{"id": content.file_name(), "checksum": content.id()} for _ in range(20)]}),
    ),
    "Jellyfin": (
        _playback,
        lambda content: get("/Items", searchTerm=content.title(), fields="PrimaryImageAspectRatio,CanDelete", includeItemTypes="Movie"),
        lambda content: as_json("POST", f"/Items/{content.id()}", {"Name": content.title(), "Overview": content.sentence(), "Path": f"/media/films/{content.title()} (2020)/{content.file_name()}", "ProviderIds": {"Imdb": "tt0133093"}}),
        lambda content: as_json("POST", f"/Items/{content.id()}/PlaybackInfo", {"DeviceProfile": {"DirectPlayProfiles": [{"Container": "mp4,m4v", "Type": "Video", "VideoCodec": "h264"}], "CodecProfiles": [{"Type": "Video", "Conditions": [{"Condition": "EqualsAny", "Property": "VideoProfile", "Value": "high|main|baseline"}]}]}}),
    ),
    "Audiobookshelf": (
        lambda content: as_json("PATCH", f"/api/items/{content.id()}/media", {"metadata": {"title": content.title(), "description": content.page(), "authors": [{"name": content.person()}]}}),
        lambda content: as_json("POST", f"/api/session/{content.id()}/sync", {"currentTime": 12.5, "timeListened": 10, "duration": content.number()}),
    ),
    "Navidrome": (
        lambda content: get("/rest/search3", query=content.title(), u="alice", t=content.id(), s="abc", v="1.8.0", c="NavidromeUI", f="json"),
        lambda content: form("/rest/createPlaylist.view", name=content.title(), songId=content.id(), f="json"),
    ),
    "Paperless-ngx": (
        _document,
        lambda content: as_json("PATCH", f"/api/documents/{content.number()}/", {"title": content.title(), "content": content.markdown(), "tags": [1, 2], "custom_fields": []}),
        lambda content: as_json("POST", f"/api/documents/{content.number()}/notes/", {"note": content.comment()}),
        lambda content: as_json("POST", "/api/storage_paths/test/", {"document": content.number(), "path": "{created_year}/{{ correspondent }}/{{ title }}"}),
    ),
    "Miniflux": (
        lambda content: as_json("POST", "/v1/feeds", {"feed_url": f"https://blog.example/{segment(content.title())}/feed.xml", "category_id": 1, "scraper_rules": "article.post, div[class~='entry']", "blocklist_rules": "(?i)sponsored|advert"}),
        lambda content: as_json("PUT", "/v1/entries", {"entry_ids": [content.number() for _ in range(50)], "status": "read"}),
    ),
    "FreshRSS": (
        lambda content: form("/i/?c=feed&a=add", url_rss=f"https://blog.example/{content.number()}/atom.xml", category="1", _csrf=content.id()),
        lambda content: form("/api/greader.php/reader/api/0/edit-tag", i=f"tag:google.com,2005:reader/item/{content.id()}", a="user/-/state/com.google/read", T=content.id()),
    ),
    "Mealie": (
        lambda content: as_json("PATCH", f"/api/recipes/{segment(content.title())}", {"name": content.title(), "description": content.sentence(), "recipeIngredient": [{"note": "1/2 cup flour & 3 eggs", "quantity": 1.5}] * 8, "recipeInstructions": [{"text": content.sentence()} for _ in range(6)]}),
        lambda content: as_json("POST", "/api/recipes/create/url", {"url": f"https://food.example/{content.number()}?print=1", "includeTags": True}),
    ),
    "Calibre-Web": (
        lambda content: form(f"/admin/book/{content.number()}", csrf_token=content.id(), book_title=content.title(), author_name=content.person(), description=content.page(), tags="Fiction, Drama", rating="4"),
        lambda content: form("/search", csrf_token=content.id(), query=content.title()),
    ),
}  # fmt: skip
