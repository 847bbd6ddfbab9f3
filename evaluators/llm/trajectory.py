"""A model judges the steps of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from evaluators.base import Result
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.llm.judging import Judged, messages, parsed
from evaluators.llm.models import Message
from evaluators.llm.prompting import prompt_file
from evaluators.llm.reading import before_verdict, read
from evaluators.llm.scales import Scale, rating
from evaluators.texts import as_text
from evaluators.trajectory_base import AgentTrajectoryEvaluator

_SCALE = rating(1, 5)


@evaluator("trajectory", title="Agent steps by a judge", needs_model=True)
@dataclass(kw_only=True)
class TrajectoryEvalChain(Judged, AgentTrajectoryEvaluator):
    """A model rates the steps of an agent, 0 to 1 in quarters."""

    agent_tools: Annotated[Any, About("Tools with name and description.", type="python")] = None
    output_parser: Annotated[
        Any, About("A function from the reply to the result.", type="python")
    ] = None
    return_reasoning: Annotated[bool, About("Has no effect: the reasoning is always given.")] = (
        False
    )

    shown: ClassVar[Mapping[str, str]] = {
        "question": "input",
        "steps": "agent_trajectory",
        "answer": "prediction",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.agent_tools or (), Iterable):
            raise ValueError("agent_tools must be tools with name and description.")
        _tools(self.agent_tools or ())

    def check_arguments(self, reference: object = None, input: object = None) -> None:
        """As for all; a reference is welcome here, only an empty one is worth a warning."""
        super().check_arguments(reference=None if reference else reference, input=input)

    def guidance(self) -> dict[str, str]:
        """The tools that the agent had."""
        return {"tools": _tools(self.agent_tools or ())}

    def build_prompt(self, *, salt: bytes | None = None, **arguments: Any) -> list[Message]:
        """The messages for one row, from the call's keyword arguments; calls nobody."""
        texts = {name: arguments.get(argument) for name, argument in self.shown.items()}
        texts["steps"] = steps_as_text(texts["steps"])
        if not arguments.get("reference"):
            return messages(prompt_file("trajectory"), texts, self.guidance(), salt)
        texts["reference"] = arguments["reference"]
        return messages(prompt_file("labeled_trajectory"), texts, self.guidance(), salt)

    def scale(self) -> Scale:
        """What a verdict may be."""
        return _SCALE

    def read_reply(self, text: str, finish_reason: str = "") -> Result:
        """The result that a reply holds; UnreadableReply, with the raw text, if it holds none."""
        if self.output_parser is not None:
            return parsed(self.output_parser, text)
        found = read(text, _SCALE, finish_reason)
        number: Any = found.verdict
        return {"score": (number - 1) / 4, "reasoning": before_verdict(text, found)}

    def _evaluate_agent_trajectory(self, **arguments: Any) -> Result:
        return self.ask(**arguments)

    async def _aevaluate_agent_trajectory(self, **arguments: Any) -> Result:
        return await self.aask(**arguments)


def steps_as_text(steps: Any) -> str:
    """The steps of an agent as a reader sees them; a text stays as it is."""
    if isinstance(steps, str) or not isinstance(steps, Iterable):
        return as_text(steps)
    return "\n\n".join(_step(number, step) for number, step in enumerate(steps, start=1))


def _step(number: int, step: Any) -> str:
    action, output = step if isinstance(step, (tuple, list)) and len(step) == 2 else (step, None)
    lines = [f"Step {number}"]
    for title, name in (("Tool", "tool"), ("Input", "tool_input"), ("Thought", "log")):
        value = action.get(name) if isinstance(action, Mapping) else getattr(action, name, None)
        if value not in (None, ""):
            lines.append(f"{title}: {as_text(value)}")
    if len(lines) == 1:
        lines.append(as_text(action))
    return "\n".join([*lines, *([] if output is None else [f"Output: {as_text(output)}"])])


def _tools(tools: Iterable[Any]) -> str:
    lines = [f"- {_told(tool, 'name')}: {_told(tool, 'description')}" for tool in tools]
    return "\n".join(lines) or "(not told)"


def _told(tool: Any, name: str) -> Any:
    try:
        return tool[name] if isinstance(tool, Mapping) else getattr(tool, name)
    except (KeyError, AttributeError):
        raise ValueError("agent_tools must be tools with name and description.") from None
