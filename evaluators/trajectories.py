"""An agent's steps against those expected, without a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.json_reading import NotJson, as_json
from evaluators.json_values import canonical
from evaluators.kinds import About
from evaluators.matching import agreement
from evaluators.trajectory_base import AgentTrajectoryEvaluator

Call = tuple[str, Any]

# In any order each call is held against each: that many squared.
_MOST_CALLS = 500
_STEPS = ("strict", "unordered", "subset", "superset")
_ARGUMENTS = ("exact", "ignore", "subset", "superset")


def calls_in(trajectory: Any) -> list[Call]:
    """The tool calls of a trajectory: pairs of action and output, actions, or chat messages."""
    try:
        steps = as_json(trajectory)
    except NotJson:
        raise ValueError("Steps given as plain text cannot be compared.") from None
    steps = steps.get("messages") if isinstance(steps, Mapping) else steps
    if not isinstance(steps, Iterable):
        raise ValueError("Steps must be a list of actions, or of chat messages.")
    return [call for step in steps for call in _calls_of(step)]


def _calls_of(step: Any) -> Iterable[Call]:
    action = step[0] if isinstance(step, (tuple, list)) and step else step
    several = _field(action, "tool_calls")
    if several:
        return [_openai_call(call) for call in several]
    tool = _field(action, "tool")
    name = tool or _field(action, "name")
    if name is None:
        return []
    names = ("tool_input",) if tool else ("args", "arguments")
    given = next((value for one in names if (value := _field(action, one)) is not None), None)
    return [(str(name), _arguments(given))]


def _field(action: Any, name: str) -> Any:
    return action.get(name) if isinstance(action, Mapping) else getattr(action, name, None)


def _openai_call(call: Mapping[str, Any]) -> Call:
    function = call.get("function") or call
    arguments = function.get("arguments", function.get("args"))
    return str(function.get("name")), _arguments(arguments)


def _arguments(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return as_json(value)
    except NotJson:
        return value


def _counted(calls: Iterable[Call], arguments: str) -> Counter[tuple[str, str]]:
    """How often each call stands there, with its arguments unless those are ignored."""
    ignored = arguments == "ignore"
    return Counter((name, "" if ignored else canonical(given)) for name, given in calls)


@dataclass(kw_only=True)
class _Steps(AgentTrajectoryEvaluator):
    requires_input = False
    requires_reference = True

    def evaluate_agent_trajectory(
        self,
        *,
        agent_trajectory: Any,
        prediction: Any = None,
        input: Any = None,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The score of an agent's steps; only these and the reference are looked at."""
        return super().evaluate_agent_trajectory(
            prediction=prediction,
            agent_trajectory=agent_trajectory,
            input=input,
            reference=reference,
            **kwargs,
        )

    async def aevaluate_agent_trajectory(
        self,
        *,
        agent_trajectory: Any,
        prediction: Any = None,
        input: Any = None,
        reference: Any = None,
        **kwargs: Any,
    ) -> Result:
        """The async twin of `evaluate_agent_trajectory`."""
        return await super().aevaluate_agent_trajectory(
            prediction=prediction,
            agent_trajectory=agent_trajectory,
            input=input,
            reference=reference,
            **kwargs,
        )

    def check_arguments(self, reference: object = None, input: object = None) -> None:
        """As for all; an input is no surprise, since every trajectory answers one."""
        super().check_arguments(reference=reference)


@evaluator("trajectory_match", title="Agent steps as expected")
@dataclass(kw_only=True)
class TrajectoryMatchEvaluator(_Steps):
    """1 if an agent's tool calls are those of the reference, 0 if not."""

    steps: Annotated[
        Literal["strict", "unordered", "subset", "superset"],
        About("The same in order, in any order, none but those, or at least those."),
    ] = "strict"
    arguments: Annotated[
        Literal["exact", "ignore", "subset", "superset"],
        About("How the arguments of a call must agree."),
    ] = "exact"
    by_tool: Annotated[
        Mapping[str, Any], About("Another rule, or a function, for single tools.", type="python")
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.steps not in _STEPS:
            raise ValueError(f"steps must be one of {', '.join(_STEPS)}.")
        if not isinstance(self.by_tool, Mapping):
            raise ValueError("by_tool must be a mapping from tools to rules.")
        for rule in [self.arguments, *self.by_tool.values()]:
            if not callable(rule) and rule not in _ARGUMENTS:
                raise ValueError(f"arguments must be one of {', '.join(_ARGUMENTS)}.")

    def _evaluate_agent_trajectory(
        self, *, agent_trajectory: Any, reference: Any = None, **kwargs: Any
    ) -> Result:
        made, wanted = calls_in(agent_trajectory), calls_in(reference)
        if self.steps == "strict":
            fits = len(made) == len(wanted) and all(map(self._agree, made, wanted))
            return {"score": int(fits)}
        matched = self._matched(made, wanted)
        all_made = self.steps == "superset" or matched == len(made)
        all_wanted = self.steps == "subset" or matched == len(wanted)
        return {"score": int(all_made and all_wanted)}

    def _matched(self, made: list[Call], wanted: list[Call]) -> int:
        if self.by_tool or self.arguments in ("subset", "superset"):
            return _matching(made, wanted, self._agree)
        return (_counted(made, self.arguments) & _counted(wanted, self.arguments)).total()

    def _agree(self, made: Call, wanted: Call) -> bool:
        if made[0] != wanted[0]:
            return False
        rule = self.by_tool.get(made[0], self.arguments)
        if callable(rule):
            return bool(rule(made[1], wanted[1]))
        return _arguments_agree(made[1], wanted[1], rule)


def _arguments_agree(made: Any, wanted: Any, rule: str) -> bool:
    if rule == "ignore":
        return True
    if rule == "exact" or not (isinstance(made, Mapping) and isinstance(wanted, Mapping)):
        return canonical(made) == canonical(wanted)
    small, large = (made, wanted) if rule == "subset" else (wanted, made)
    return all(
        name in large and canonical(large[name]) == canonical(value)
        for name, value in small.items()
    )


def _matching(made: list[Call], wanted: list[Call], agree: Any) -> int:
    """How many calls can be paired off at most."""
    if not made or not wanted:
        return 0
    if max(len(made), len(wanted)) > _MOST_CALLS:
        raise ValueError(f"More than {_MOST_CALLS:,} calls are compared in their order only.")
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    agreeing = csr_array([[agree(one, other) for other in wanted] for one in made])
    return int((maximum_bipartite_matching(agreeing) >= 0).sum())


@evaluator("tool_call_f1", title="Tool calls, F1")
@dataclass(kw_only=True)
class ToolCallF1Evaluator(_Steps):
    """The F1 of an agent's tool calls against the reference's; repeated calls are counted."""

    arguments: Annotated[
        Literal["exact", "ignore"], About("Whether calls must agree in their arguments.")
    ] = "exact"

    def __post_init__(self) -> None:
        if self.arguments not in ("exact", "ignore"):
            raise ValueError("arguments must be exact or ignore.")

    def _evaluate_agent_trajectory(
        self, *, agent_trajectory: Any, reference: Any = None, **kwargs: Any
    ) -> Result:
        made = _counted(calls_in(agent_trajectory), self.arguments)
        wanted = _counted(calls_in(reference), self.arguments)
        figures = agreement((made & wanted).total(), made.total(), wanted.total())
        repeated = sum(count - 1 for count in made.values())
        return {"score": figures["f1"], **figures, "repeated_calls": repeated}
