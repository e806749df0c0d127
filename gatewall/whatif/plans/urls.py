"""URLs of plans and of their application."""

from django.urls import path, re_path

from gatewall.whatif.plans.apply_view import ApplyPlan
from gatewall.whatif.plans.views import Plans

_ONE = rf"^policy/plan/(?P<pk>{Plans.lookup_value_regex})$"

urlpatterns = [
    path("policy/plan", Plans.as_view({"get": "list", "post": "create"}), name="policy-plan-list"),
    re_path(_ONE, Plans.as_view({"get": "retrieve", "delete": "destroy"}), name="policy-plan-detail"),
    path("policy/apply", ApplyPlan.as_view(), name="policy-apply"),
]
