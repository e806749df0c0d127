"""URLs of machine credentials."""

from rest_framework.routers import SimpleRouter

from licensing import views

router = SimpleRouter(trailing_slash=False)
router.register("licenses", views.Licenses, basename="licenses")
router.register(r"users/(?P<user_id>[0-9]{1,18})/git-tokens", views.GitTokens, basename="git-tokens")
router.register(r"users/(?P<user_id>[0-9]{1,18})/app-tokens", views.AppTokens, basename="app-tokens")

urlpatterns = router.urls
