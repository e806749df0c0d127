"""Search page of the console, for the form at the top of each page."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from gatewall.console.shell.search import MAX_LENGTH, search
from gatewall.console.site.pages import OperatorPage


class SearchPage(OperatorPage):
    """The search results for ``q``, by kind."""

    http_method_names = ["get", "head"]
    template = "console/shell/search.html"
    title = gettext_lazy("Search")

    def get(self, request: HttpRequest) -> HttpResponse:
        text = request.GET.get("q", "").strip()
        if len(text) > MAX_LENGTH or "\0" in text:
            return self.render(request, HTTPStatus.BAD_REQUEST, searched="", is_wrong=True)
        return self.render(request, searched=text, groups=search(request, text))
