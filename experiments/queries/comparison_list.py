"""The pairwise experiments of a dataset, newest first."""

from experiments.models import Comparison, Dataset
from experiments.queries.paging import Slice, page_by_time


def comparisons_of(
    dataset: Dataset, *, size: int, after: str = "", before: str = ""
) -> Slice[Comparison]:
    """A page of comparisons with their sides, evaluators and jobs, in four queries."""
    rows = (
        Comparison.objects.filter(dataset=dataset)
        .select_related("job", "author")
        .prefetch_related("sides__experiment", "evaluators__evaluator", "evaluators__race")
    )
    return page_by_time(rows, "created_at", size=size, after=after, before=before)
