"""What a campaign asks when it is over."""

import re

from stress import note


def show(what, items):
    for item in items[:12]:
        note(f"{what}: {item}")


def final_state(world):
    """Where the machine does not end as the tables do."""
    controls = {(k, i): (s, o, str(v)) for k, i, s, o, v in world.ask(
        "SELECT kind, id, state, owner, version FROM ql3.run_recovery_controls")}
    attempts = dict(world.ask("SELECT attempt::text, state FROM ql3.dispatches"))
    mine = {key: (r["state"], r["owner"], r["version"]) for key, r in world.recovery.rows.items()}
    theirs = {a: r["state"] for a, r in world.dispatch.rows.items()}
    return [(key, mine.get(key), controls.get(key)) for key in {*mine, *controls} if mine.get(key) != controls.get(key)] + [
        (each, theirs.get(each), state) for each, state in attempts.items() if theirs.get(each) != state]


def lost_words(world):
    """Every word that was acknowledged and is not in the trace."""
    lost, attempts = [], world.dispatch.rows.values()
    outcomes = {row["token_digest"]: row["writer_outcome"] for row in attempts}
    stored = {(row["request_uid"], row["item"], row["writer_outcome"]) for row in attempts}
    for nonce, answers in world.calls.answers.items():
        sent = world.calls.sent[nonce]
        words = {answer.get("word") for answer in answers}
        if sent["op"] in ("settle", "conclude", "own") and words & {"settled", "concluded", "stale"}:
            if nonce not in world.recovery.by_nonce:
                lost.append((sent, words))
        if sent["op"] == "d.settle" and sent["outcome"] in ("succeeded", "failed") and words & {"recorded", "concluded"}:
            if outcomes.get(world.calls.plain(sent["token"])) != sent["outcome"]:
                lost.append((sent, words))
    return lost + [(item, outcome) for item, outcome in world.stored if (*item, outcome) not in stored]


def server_log(world):
    """How often it refused for want of what, and the lines around each crash of its own."""
    said, crashes = dict.fromkeys(("ERROR:  out of memory", "No space left on device", "was not properly shut down"), 0), []
    with open(world.log, encoding="utf-8", errors="replace") as file:
        lines = [line[:300] for line in file]
    for at, line in enumerate(lines):
        for words in said:
            said[words] += words in line
        if re.search(r"PANIC|TRAP|terminated by signal (?!9\b)\d", line):
            crashes.append("".join(lines[max(at - 6, 0):at + 3]))
    return said, crashes
