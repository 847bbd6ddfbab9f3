"""One line per page or action."""

from django.urls import path
from django.views.generic import RedirectView

from tiebreak.web import (
    accounts,
    comparisons,
    dataset_comparisons,
    datasets,
    experiments,
    exports,
    launching,
    leaderboards,
    report_file,
    reports,
    sdk_links,
    uploads,
    workspace,
)

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="dataset_list"), name="home"),
    path("sign-in", accounts.sign_in, name="sign_in"),
    path("sign-out", accounts.sign_out, name="sign_out"),
    path("setup", accounts.setup, name="setup"),
    path("datasets", datasets.dataset_list, name="dataset_list"),
    path("datasets/new", datasets.dataset_create, name="dataset_create"),
    path("datasets/sample", datasets.sample_load, name="sample_load"),
    path("uploads/new", uploads.upload_new, name="upload_new"),
    path("uploads/<uuid:uid>", uploads.upload_detail, name="upload_detail"),
    path("uploads/<uuid:uid>/target", uploads.upload_target, name="upload_target"),
    path("uploads/<uuid:uid>/layout", uploads.upload_layout, name="upload_layout"),
    path("uploads/<uuid:uid>/mapping", uploads.upload_mapping, name="upload_mapping"),
    path("uploads/<uuid:uid>/start", uploads.upload_start, name="upload_start"),
    path("uploads/<uuid:uid>/stop", uploads.upload_stop, name="upload_stop"),
    path("uploads/<uuid:uid>/discard", uploads.upload_discard, name="upload_discard"),
    path("datasets/<uuid:uid>", datasets.dataset_detail, name="dataset_detail"),
    path("datasets/<uuid:uid>/delete", datasets.dataset_delete, name="dataset_delete"),
    path("datasets/<uuid:uid>/export", exports.dataset_export, name="dataset_export"),
    path("datasets/<uuid:uid>/versions", datasets.dataset_versions, name="dataset_versions"),
    path(
        "datasets/<uuid:uid>/experiments",
        datasets.dataset_experiments,
        name="dataset_experiments",
    ),
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
    path("experiments", experiments.experiment_list, name="experiment_list"),
    path("experiments/<uuid:uid>", experiments.experiment_detail, name="experiment_detail"),
    path("experiments/<uuid:uid>/export", exports.experiment_export, name="experiment_export"),
    path("experiments/<uuid:uid>/delete", experiments.experiment_delete, name="experiment_delete"),
    path(
        "experiments/<uuid:uid>/evaluate",
        experiments.experiment_evaluate,
        name="experiment_evaluate",
    ),
    path(
        "evaluations/<uuid:uid>/do/<str:step>", experiments.evaluation_step, name="evaluation_step"
    ),
    path("leaderboards", leaderboards.leaderboard_list, name="leaderboard_list"),
    path("leaderboards/<uuid:uid>", leaderboards.leaderboard_detail, name="leaderboard_detail"),
    path("runs/<uuid:uid>", experiments.run_detail, name="run_detail"),
    path("comparisons/<uuid:uid>", comparisons.comparison_detail, name="comparison_detail"),
    path("comparisons/<uuid:uid>/report", reports.comparison_report, name="comparison_report"),
    path(
        "comparisons/<uuid:uid>/export/report",
        report_file.comparison_report_file,
        name="comparison_report_file",
    ),
    path(
        "comparisons/<uuid:uid>/export/<str:what>",
        exports.comparison_export,
        name="comparison_export",
    ),
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
    path("o/<uuid:tenant>/projects/p/<uuid:session>", sdk_links.project_link),
    path("o/<uuid:tenant>/projects/p/<uuid:session>/r/<uuid:run>", sdk_links.project_link),
    path("o/<uuid:tenant>/datasets/<uuid:uid>", sdk_links.dataset_link),
    path("o/<uuid:tenant>/datasets/<uuid:uid>/e/<uuid:example>", sdk_links.dataset_link),
    path("o/<uuid:tenant>/datasets/<uuid:uid>/compare", sdk_links.compare_link),
]
