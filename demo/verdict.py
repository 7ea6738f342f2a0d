"""Whether everything at the end of the demo is as promised."""
import signal

from report import concluded, lost_once, put_off, untouched


def not_fenced(demo):
    """What speaks against it: the JSON of replica-2 must say so of what it held, and the
    tables must not have its judgement."""
    late = demo.late
    stored = demo.stage.query(
        f"SELECT * FROM ql3.judgements WHERE owner = 'replica-2' AND kind = '{late['kind']}' "
        f"AND id = '{late['id']}' AND version >= {late['held']['version']} AND result <> 'expired'")
    fenced = [target["outcome"] for target in late["said"]] == ["fenced"]
    return [] if late["held"]["owner"] == "replica-2" and fenced and not stored else [late, stored]


def checks(demo, facts):
    """What must hold at the end, each with what speaks against it."""
    fact_of = {fact["run_id"]: fact for fact in facts}
    dead = demo.of("killed", "leaves before the barrier")
    alive = demo.of("stopped", "finishes", "lives")
    codes = {run: demo.stage.processes[run].returncode for run in demo.part_of}
    left = demo.stage.query("SELECT * FROM ql3.ql3_observe(1)", role="demo_observer")
    kept = ("started_at", "host", "pid", "process_start", "worker", "lease_expires_at")
    unkept = demo.stage.query(
        "SELECT a.run_id FROM ql3_ledger.run_attempts AS a JOIN ql3_ledger.run_events AS e "
        "USING (run_id) WHERE e.event IN ('attempt_lost', 'run_lost') AND NOT (" + " AND ".join(
            f"to_jsonb(a) -> '{key}' = e.facts -> '{key}'" for key in kept) + ")")
    return [
        (f"each of the {len(dead)} dead attempts is lost exactly once, with its two events",
         [fact_of[run] for run in dead if not lost_once(fact_of[run])]),
        ("lease, worker and process identity are kept in the events", unkept),
        (f"none of the {len(alive)} living ones was touched",
         [fact_of[run] for run in alive if not untouched(fact_of[run])]),
        ("every stopped one was judged running and put off",
         [fact_of[run] for run in demo.of("stopped") if not put_off(fact_of[run])]),
        ("every process really ended as the table says",
         [(run, code) for run, code in codes.items()
          if code != (-signal.SIGKILL if demo.part_of[run] == "killed" else 0)]),
        ("every run has one attempt: nothing was executed again",
         [fact for fact in facts if fact["attempt_number"] != 1]
         + ([] if len(facts) == len(demo.part_of) else [f"{len(facts)} attempts"])),
        ("the late answer of the frozen replica was fenced and changed nothing",
         not_fenced(demo)),
        ("what the killed replica held was judged by another",
         [orphan for orphan in demo.orphans if any(
             judgement["owner"] == "replica-1" and judgement["version"] == orphan["version"]
             and judgement["kind"] == orphan["kind"]
             for judgement in fact_of[orphan["run_id"]]["judgements"])]
         if demo.orphans else ["it held nothing"]),
        ("the other replicas ended with status 0",
         [(name, demo.stage.processes[name].returncode, demo.stage.errors(name)[-300:])
          for name in ("replica-2", "replica-3") if demo.stage.processes[name].returncode]),
        ("nothing is left: an independent ql3_observe(1) finds nothing", left),
    ]
