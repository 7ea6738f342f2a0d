"""The end of the demo: what became of every target, and whether all of it is as promised."""

FACTS = """
SELECT a.run_id, a.attempt_id, a.attempt_number, a.status, r.status AS run_status,
       (SELECT coalesce(json_agg(json_build_array(e.event, e.event_number, e.dedupe_key)
                                 ORDER BY e.event_number), '[]')
        FROM ql3_ledger.run_events AS e
        WHERE e.run_id = a.run_id AND e.event IN ('attempt_lost', 'run_lost')) AS lost_events,
       (SELECT coalesce(json_agg(json_build_object('kind', j.kind, 'owner', j.owner,
                 'version', j.version, 'disposition', j.disposition, 'verdict', j.verdict,
                 'note', j.note, 'result', j.result) ORDER BY j.judgement_id), '[]')
        FROM ql3.judgements AS j  -- a claim that ran out is on record too, and nobody's judgement
        WHERE j.result <> 'expired'
          AND (j.kind, j.id) IN (('run', a.run_id), ('attempt', a.attempt_id::text))) AS judgements,
       (SELECT coalesce(json_object_agg(c.kind, c.version), '{}')
        FROM ql3.run_recovery_controls AS c
        WHERE (c.kind, c.id) IN (('run', a.run_id), ('attempt', a.attempt_id::text))) AS claims
FROM ql3_ledger.run_attempts AS a JOIN ql3_ledger.runs AS r ON r.run_id = a.run_id
ORDER BY a.run_id, a.attempt_number
"""


def concluded(fact):
    return [j for j in fact["judgements"] if j["result"] == "concluded"]


def put_off(fact):
    return [j for j in fact["judgements"]
            if j["disposition"] == "retry" and (j["note"] or "").startswith("running")]


def lost_once(fact):
    """Lost by exactly one judgement, with its two events in order and under their keys."""
    first, second = (fact["lost_events"] + [[None, 0, None]] * 2)[:2]
    attempt = fact["attempt_id"]
    return (fact["status"] == fact["run_status"] == "lost" and len(concluded(fact)) == 1
            and len(fact["lost_events"]) == 2
            and (first[0], first[2]) == ("attempt_lost", f"attempt-lost:{attempt}")
            and (second[0], second[2]) == ("run_lost", f"run-lost:{attempt}")
            and second[1] == first[1] + 1)


def untouched(fact):
    return (fact["status"] == fact["run_status"] == "succeeded" and not fact["lost_events"]
            and not concluded(fact))


def how(fact):
    if concluded(fact):
        judgement = concluded(fact)[0]
        return f"{judgement['kind']} {judgement['verdict']} -> {fact['status']}"
    if put_off(fact):
        return f"running, put off {len(put_off(fact))} times -> {fact['status']}"
    return f"not judged -> {fact['status']}"


def by_whom(fact, late):
    judges = [j["owner"] for j in concluded(fact) or put_off(fact)]
    names = ", ".join(dict.fromkeys(judges))
    if fact["run_id"] == late["run_id"]:
        names += f" ({late['replica']} too late)"
    return names


def claims(fact):
    return ", ".join(f"{kind} {number}" for kind, number in sorted(fact["claims"].items()))


def print_table(facts, what_happened, late):
    rows = [("TARGET", "WHAT HAPPENED", "HOW JUDGED", "BY", "CLAIMS")]
    rows += [(f"{fact['run_id']}/{fact['attempt_number']}", what_happened[fact["run_id"]],
              how(fact), by_whom(fact, late), claims(fact)) for fact in facts]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)


def print_verdict(checks, came_to_its_end):
    """Print each check; whether the demo came to its end and all of them hold."""
    for text, offenders in checks:
        print(f"{'NOT SO' if offenders else 'ok    '}  {text}")
        for offender in offenders[:5]:
            print(f"          {offender}")
    good = came_to_its_end and not any(offenders for _, offenders in checks)
    print(f"\nverdict: {'everything as promised' if good else 'FAILED'}", flush=True)
    return good
