"""What a script's verdicts cost: evaluate_comparative() of the official client over stored runs.

    .venv/bin/python -m benchmarks.verdicts [--pairs 500]

Every verdict is two `POST /feedback`; in the end each pair has its judgment.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from benchmarks.serving import serving


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=500)
    pairs = parser.parse_args().pairs
    with serving(web_processes=1) as server:
        from experiments.models import Judgment
        from tests.factories import make_dataset, make_experiment
        from tiebreak.accounts.models import Workspace

        dataset = make_dataset(Workspace.objects.get(name="Bench"), ["x"] * pairs)
        names = [make_experiment(dataset, [side] * pairs).name for side in ("x", "y")]
        os.environ["LANGSMITH_ENDPOINT"] = f"http://127.0.0.1:{server.port}/api"
        os.environ["LANGSMITH_API_KEY"] = server.key
        before, began = server.seconds_used(), time.monotonic()
        _compare(names)
        seconds = time.monotonic() - began
        after, judged = server.seconds_used(), Judgment.objects.filter(outcome="a").count()
    if judged != pairs:
        raise SystemExit(f"{judged} of {pairs} pairs are judged")
    used = {name: 1000 * (after[name] - before[name]) / (2 * pairs) for name in after}
    print(f"seconds in all      {seconds:8.1f}")
    print(f"server CPU per mark {sum(used.values()):8.2f} ms, in PostgreSQL {used['postgres']:.2f}")


def _compare(names: list[str]) -> None:
    from langsmith import Client
    from langsmith.evaluation import evaluate_comparative

    def longer(outputs: Any) -> Any:
        return [1.0, 0.0] if outputs[0]["answer"] == "x" else [0.0, 1.0]

    judges: Any = [longer]
    evaluate_comparative((names[0], names[1]), evaluators=judges, client=Client())


if __name__ == "__main__":
    main()
