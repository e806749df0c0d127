"""Help page: a page of the documentation in the frame of the console, and its pictures."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from gatewall.console.help.documents import Documents
from gatewall.console.help.topics import START, TOPICS
from gatewall.console.site.pages import OperatorPage

documents = Documents(settings.BASE_DIR / "docs")


class Help(OperatorPage):
    """A page of docs/, by its path there."""

    http_method_names = ["get", "head"]
    template = "console/help.html"
    title = gettext_lazy("Help")

    def get(self, request: HttpRequest, name: str = START) -> HttpResponse:
        if picture := documents.picture(name):
            return HttpResponse(picture[0], content_type=picture[1], headers={"Cache-Control": "private, max-age=3600"})
        page = documents.page(name)
        if page is None:
            raise Http404
        if not name.endswith(".md"):  # a folder: the links of its index are relative to it
            return HttpResponseRedirect(url_of(f"{name.rstrip('/')}/{START}"))
        return self.render(request, title=page.title, document=page)


def url_of(target: str) -> str:
    """Return the address of a page of the documentation and, after ``#``, a heading in it."""
    name, _, anchor = target.partition("#")
    return reverse("help:page", args=[name]) + (f"#{anchor}" if anchor else "")


def url_for(item: str) -> str:
    """Return the address of the page that explains an item of the sidebar."""
    return url_of(TOPICS.get(item, START))
