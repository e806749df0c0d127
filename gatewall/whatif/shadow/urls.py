"""URLs of the shadow policy."""

from django.urls import path

from gatewall.whatif.shadow.views import PromoteShadow, Shadow

urlpatterns = [
    path("policy/shadow", Shadow.as_view(), name="policy-shadow"),
    path("policy/shadow/promote", PromoteShadow.as_view(), name="policy-shadow-promote"),
]
