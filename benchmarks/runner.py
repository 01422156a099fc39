"""Runs a workload: every contender once for its results, then all in turn, round after round; and
shows what came out."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

import numpy as np

from .workload import Contender, Goal, Task, Timings, Workload

STRETCH = 0.1  # seconds that the calls of a short task take together in a round
MOST_CALLS = 100


class Outcome:
    """What a workload gave: timings, figures by goal, contenders that aren't installed,
    disagreements."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.missing: list[str] = []
        self.disagreements: list[str] = []
        self.timings = Timings({})
        self.figures: list[tuple[Goal, float | None]] = []

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.workload.name,
            "summary": self.workload.summary,
            "seconds": self.timings.seconds,
            "missing": self.missing,
            "disagreements": self.disagreements,
            "goals": [
                {
                    "what": g.what,
                    "unit": g.unit,
                    "limit": g.limit,
                    "figure": figure,
                    "met": _is_met(g, figure),
                }
                for g, figure in self.figures
            ],
        }


def run(workload: Workload, rounds: int) -> Outcome:
    outcome = Outcome(workload)
    tasks = _prepared(workload, outcome)
    seconds: dict[str, list[float]] = {contender.name: [] for contender, _ in tasks}
    for _ in range(rounds):
        for contender, task in tasks:
            seconds[contender.name].append(_seconds(task) * contender.scale)
    outcome.timings = Timings(seconds)
    outcome.figures = [(goal, goal.measure(outcome.timings)) for goal in workload.goals]
    return outcome


def _seconds(task: Task) -> float:
    """What a call takes. A short one is made again and again, and the median counts: the garbage
    collector, which goes through all that the peers have imported, has just emptied the processor's
    caches, and that alone doubles a millisecond."""
    gc.collect()
    taken: list[float] = []
    while sum(taken) < STRETCH and len(taken) < MOST_CALLS:
        started = time.perf_counter()
        task()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _prepared(workload: Workload, outcome: Outcome) -> list[tuple[Contender, Task]]:
    """The contenders that are installed, warm, their results checked."""
    tasks = []
    results: dict[str, Any] = {}
    for contender in workload.contenders:
        try:
            task = contender.prepare()
        except ImportError:
            outcome.missing.append(contender.name)
            continue
        results[contender.name] = task()
        tasks.append((contender, task))
    for contender, task in tasks:
        found, expected = results[contender.name], contender.expected
        wanted = expected() if expected is not None else results.get(workload.baseline or "")
        if found is not None and wanted is not None and not _agree(found, wanted, workload.rtol):
            outcome.disagreements.append(
                f"{contender.name} disagrees with what is expected: {found!r:.200} against "
                f"{wanted!r:.200}"
            )
        task()  # once more, warm
    return tasks


def _agree(found: Any, wanted: Any, rtol: float) -> bool:
    """Whether results are equal, each array within `rtol` of its largest element."""
    if len(found) != len(wanted):
        return False
    for a, b in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        if a.shape != b.shape or not np.all(
            np.abs(a - b) <= rtol * max(1e-300, float(np.max(np.abs(b), initial=0.0)))
        ):
            return False
    return True


# ---- showing -------------------------------------------------------------------------------------


def show(outcome: Outcome) -> str:
    workload, timings = outcome.workload, outcome.timings
    ours = next((name for name in timings.seconds if name.startswith("gradcli")), None)
    baseline = workload.baseline if workload.baseline in timings else None
    width = max(
        [len(name) for name in timings.seconds] + [len(g.what) for g in workload.goals] + [16]
    )
    lines = [
        f"{workload.name}: {workload.summary}",
        f"  {'':{width}}  {'median ms':>11}  {'x gradcli':>9}  {'x baseline':>10}",
    ]
    for name in timings.seconds:
        cells = [f"{timings.median(name) * 1e3:11.3f}"]
        cells += [
            f"{timings.ratio(name, other):{w}.2f}" if other else " " * w
            for other, w in ((ours, 9), (baseline, 10))
        ]
        lines.append(
            f"  {name:{width}}  {'  '.join(cells)}{'   (baseline)' if name == baseline else ''}"
        )
    if outcome.missing:
        lines.append(f"  not installed: {', '.join(outcome.missing)}")
    lines += [f"  {g.what:{width}}  {_show_figure(g, figure)}" for g, figure in outcome.figures]
    lines += [f"  WRONG: {message}" for message in outcome.disagreements]
    return "\n".join(lines) + "\n"


def _is_met(goal: Goal, figure: float | None) -> bool | None:
    return None if figure is None or goal.limit is None else goal.is_met(figure)


def _show_figure(goal: Goal, figure: float | None) -> str:
    if figure is None:
        return "nothing to compare with"
    text = f"{figure:11.4g} {goal.unit}"
    if goal.limit is None:
        return text
    bound = "at least" if goal.at_least else "at most"
    return f"{text}   goal: {bound} {goal.limit:g} - {'met' if goal.is_met(figure) else 'MISSED'}"
