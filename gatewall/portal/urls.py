"""The paths of the visitor pages."""

from django.urls import path

from gatewall.portal import views

urlpatterns = [
    path("", views.Guard.as_view(), name="guard"),
    path("second-factor", views.SecondFactor.as_view(), name="second-factor"),
    path("sign-out", views.SignOut.as_view(), name="sign-out"),
]
