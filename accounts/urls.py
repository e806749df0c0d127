"""The paths of users and sign-in."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from accounts import views

router = SimpleRouter(trailing_slash=False)
router.register("users", views.Users, basename="users")

urlpatterns = [
    path("login", views.Login.as_view(), name="login"),
    path("admin-login", views.Login.as_view(admins_only=True), name="admin-login"),
    path("logout", views.Logout.as_view(), name="logout"),
    path("session", views.OwnSession.as_view(), name="session"),
    *router.urls,
]
