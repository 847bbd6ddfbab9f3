"""One line per page or action."""

from django.urls import path
from django.views.generic import RedirectView

from tiebreak.web import accounts, comparisons, dataset_comparisons, launching, workspace

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="dataset_list"), name="home"),
    path("sign-in", accounts.sign_in, name="sign_in"),
    path("sign-out", accounts.sign_out, name="sign_out"),
    path("setup", accounts.setup, name="setup"),
    path(
        "datasets/<uuid:uid>/pairwise",
        dataset_comparisons.dataset_comparisons,
        name="dataset_comparisons",
    ),
    path(
        "datasets/<uuid:uid>/pairwise/launch",
        dataset_comparisons.launch,
        name="comparison_launch",
    ),
    path(
        "datasets/<uuid:uid>/pairwise/forecast",
        launching.launch_forecast,
        name="comparison_forecast",
    ),
    path("comparisons/<uuid:uid>", comparisons.comparison_detail, name="comparison_detail"),
    path("comparisons/<uuid:uid>/delete", comparisons.comparison_delete, name="comparison_delete"),
    path(
        "comparisons/<uuid:uid>/do/<str:step>", comparisons.comparison_step, name="comparison_step"
    ),
    path("settings", workspace.settings, name="settings"),
    path("settings/password", accounts.password, name="password"),
    path("settings/members", workspace.members, name="member_list"),
    path("settings/members/<int:pk>/role", workspace.member_role, name="member_role"),
    path("settings/members/<int:pk>/remove", workspace.member_remove, name="member_remove"),
    path("settings/keys", workspace.keys, name="key_list"),
    path("settings/keys/<uuid:uid>/revoke", workspace.key_revoke, name="key_revoke"),
    path("settings/models", workspace.providers, name="provider_list"),
    path("settings/models/<uuid:uid>", workspace.provider_edit, name="provider_edit"),
    path("settings/models/<uuid:uid>/remove", workspace.provider_remove, name="provider_remove"),
]
