"""What happens in one fault run, drawn from its seed alone, so that a run can be had again."""

import random
from dataclasses import dataclass, field

STEPS = ("before_claim", "after_claim", "before_permit", "after_permit", "call_begun", "call_done",
         "before_settle", "after_settle")
CUTS = ("cut_before", "cut_before_late", "cut_after", "cut_after_answer", "late")
ERRORS = ("40001", "40P01", "55P03", "53100", "25006")
BLOCKS = ("autocommit", "autocommit", "block", "block_off_after", "block_off_before", "psycopg",
          "repeatable_read")


@dataclass
class WriterPlan:
    """One invocation: how it talks to the database and what befalls it where."""

    block: str = "autocommit"
    sync: str = "on"
    stop: str = ""                                # kill | freeze | crash | crash_and_kill
    step: str = ""                                # at which step
    faults: dict = field(default_factory=dict)    # (message kind, how often seen) -> fault
    outcome: str = "succeeded"


@dataclass
class RunPlan:
    number: int
    seed: int
    racers: list = field(default_factory=list)    # of lists of WriterPlan, one per invocation
    duplicates: float = 0.0                       # chance of one delayed duplicate at each step
    override: str = ""
    judge: str = "unknown"


def draw_writer(draw, sync, crashing):
    plan = WriterPlan(block=draw.choice(BLOCKS), sync=sync, outcome=draw.choice(
        ("succeeded", "succeeded", "failed", "unknown")))
    if crashing:
        plan.stop, plan.step = draw.choice(("crash", "crash_and_kill")), draw.choice(STEPS)
    elif draw.random() < 0.45:
        plan.stop, plan.step = draw.choice(("kill", "freeze", "freeze")), draw.choice(STEPS)
    for kind in ("claim", "permit", "settle", "not_sent"):
        for nth in range(2):
            if draw.random() < (0.3 if nth == 0 else 0.2):
                plan.faults[kind, nth] = draw_fault(draw, kind)
    return plan


def draw_fault(draw, kind):
    if draw.random() < 0.35:
        return "error", draw.choice(ERRORS), draw.choice(("write", "index", "commit"))
    if kind == "permit" and draw.random() < 0.4:
        return ("late",)
    return (draw.choice(CUTS),)


def draw_run(base, number, epoch_sync, crash_every):
    """The plan of run NUMBER under seed BASE. EPOCH_SYNC: synchronous_commit of every session."""
    seed = base * 1_000_003 + number
    draw = random.Random(seed)
    plan = RunPlan(number=number, seed=seed)
    racers = draw.choice((1, 1, 1, 2, 2, 3, 8))
    crashing = crash_every > 0 and number % crash_every == crash_every - 1
    for racer in range(racers):
        crash = crashing and racer == 0
        plan.racers.append([draw_writer(draw, epoch_sync, crash and nth == 0) for nth in range(2)])
    plan.duplicates = draw.choice((0.0, 0.2, 0.5))
    plan.override = draw.choice(("",) * 9 + ("failed", "succeeded", "unknown", "not_sent"))
    plan.judge = draw.choice(("unknown", "unknown", "true", "retry", "not_sent"))
    return plan
