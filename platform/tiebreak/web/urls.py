"""One line per page or action."""

from django.urls import path
from django.views.generic import RedirectView

from tiebreak.web import comparisons, dataset_comparisons, launching

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="dataset_list"), name="home"),
    path(
        "datasets/<uuid:uid>/pairwise",
        dataset_comparisons.dataset_comparisons,
        name="dataset_comparisons",
    ),
    path(
        "datasets/<uuid:uid>/pairwise/launch", dataset_comparisons.launch, name="comparison_launch"
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
]
