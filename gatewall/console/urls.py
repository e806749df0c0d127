"""The operator pages, under ``/admin/`` beside the pages of the rows."""

from django.urls import path

from gatewall.console.explain_pages import Explain, Receipt
from gatewall.console.history_pages import Confirmation, History, Revision
from gatewall.console.import_page import ImportList

app_name = "console"
urlpatterns = [
    path("explain/", Explain.as_view(), name="explain"),
    path("explain/<uuid:decision_id>/", Receipt.as_view(), name="explain-receipt"),
    path("history/", History.as_view(), name="history"),
    path("history/<int:number>/", Revision.as_view(), name="history-revision"),
    path("history/<int:number>/confirm/", Confirmation.as_view(), name="confirmation"),
    path("import/", ImportList.as_view(), name="import"),
]
