"""The tabs of a dataset: where each leads, and what it counts."""

from dataclasses import dataclass

from django.urls import reverse

from experiments.models import Dataset


@dataclass(frozen=True)
class Tab:
    key: str
    label: str
    count: int
    href: str
    current: bool


def tabs_of(dataset: Dataset, current: str) -> list[Tab]:
    """Examples, experiments, pairwise experiments and versions, each with its count."""
    counts = {
        "examples": ("Examples", dataset.example_count, "dataset_detail"),
        "experiments": ("Experiments", dataset.experiments.count(), "dataset_experiments"),
        "comparisons": ("Pairwise experiments", dataset.comparisons.count(), "dataset_comparisons"),
        "versions": ("Versions", dataset.versions.count(), "dataset_versions"),
    }
    return [
        Tab(key, label, count, reverse(name, args=[dataset.uid]), key == current)
        for key, (label, count, name) in counts.items()
    ]
