"""Breaches planted in a trace that is sound, each of which the machine must find by its name. A plant gets the
walk over the events (a copy) and changes what it needs; None when the trace has no place for it."""

import datetime

from trace import Change, Transaction


class Walk:
    """Events with, for each change of a row, the row before it."""

    def __init__(self, events):
        self.events = []
        self.steps = []     # (transaction, change, row before)
        before = {}
        for event in events:
            if not isinstance(event, Transaction):
                self.events.append(event)
                continue
            tx = Transaction()
            tx.at = event.at
            self.events.append(tx)
            for change in event.changes:
                mine = Change(change.table, change.act, dict(change.row))
                tx.changes.append(mine)
                key = self.key(mine)
                if key:
                    self.steps.append((tx, mine, before.get(key)))
                    before[key] = mine.row

    @staticmethod
    def key(change):
        names = {"run_recovery_controls": ("kind", "id"), "dispatches": ("attempt",)}.get(change.table)
        return names and (change.table, *(change.row[name] for name in names))

    def find(self, table, wanted):
        """The last change of the table for which `wanted`(new, old) holds."""
        for tx, change, old in reversed(self.steps):
            if change.table == table and change.act != "DELETE" and wanted(change.row, old or {}):
                return tx, change, old
        raise LookupError(table)

    def after(self, tx, *changes):
        """One more transaction right after that one."""
        more = Transaction()
        more.at, more.changes = tx.at, list(changes)
        self.events.insert(self.events.index(tx) + 1, more)

    def end_of_claim(self, wanted=lambda new, old, verdict: True):
        for tx, change, old in reversed(self.steps):
            for verdict in tx.of("judgements", "INSERT"):
                row = verdict.row
                if change.table == "run_recovery_controls" and old and old["state"] == "claimed" and row["result"] != "expired" \
                        and (row["kind"], row["id"]) == (change.row["kind"], change.row["id"]) \
                        and change.row["state"] != "claimed" and wanted(change.row, old, row):
                    return tx, change, old, verdict
        raise LookupError("judgements")


CONTROLS = "run_recovery_controls"


def shifted(text, seconds):
    return str(datetime.datetime.fromisoformat(text) + datetime.timedelta(seconds=seconds))


def taken_over(new, old):
    return new["state"] == "claimed" and old.get("state") == "claimed" and new["version"] != old["version"]


def one_holder(walk):
    _, change, old = walk.find(CONTROLS, taken_over)
    old["expires_at"] = shifted(change.row["claimed_at"], 30)


def one_page(walk):
    tx, _, _ = walk.find(CONTROLS, lambda new, old: new["state"] == "claimed" and old.get("state") != "claimed")
    tx.changes = [c for c in tx.changes if c.table != "recovery_pages"]


def page_size(walk):
    for event in walk.events:
        for page in event.of("recovery_pages", "INSERT") if isinstance(event, Transaction) else ():
            page.row["page_size"] = "0"
            return
    raise LookupError


def token_once(walk):
    for event in walk.events:
        for page in event.of("recovery_pages", "INSERT") if isinstance(event, Transaction) else ():
            walk.after(event, Change("recovery_pages", "INSERT", dict(page.row)))
            return
    raise LookupError


def version_grows(walk):
    _, change, old = walk.find(CONTROLS, taken_over)
    change.row["version"] = str(int(old["version"]) - 1)


def version_grows_through_prune(walk):
    tx, change, _ = walk.find(CONTROLS, lambda new, old: old.get("state") == "claimed" and new["state"] == "resolved")
    walk.after(tx, Change(CONTROLS, "DELETE", {"kind": change.row["kind"], "id": change.row["id"]}))
    for event in walk.events:
        for kind in event.of("recovery_kinds") if isinstance(event, Transaction) else ():
            kind.row["version_floor"] = "0"


def no_stale_write(walk):
    """The word of one caller ends the claim of another."""
    _, _, _, other = walk.end_of_claim(lambda new, old, verdict: "n=" in (verdict["note"] or ""))
    _, _, _, verdict = walk.end_of_claim(lambda new, old, verdict: "n=" in (verdict["note"] or "") and verdict is not other.row)
    verdict.row["note"] = other.row["note"]


def no_stale_write_by_a_program(walk):
    _, _, _, verdict = walk.end_of_claim(lambda new, old, verdict: '"by"' in (verdict["evidence"] or ""))
    verdict.row["evidence"] = '{"by": "sup-99"}'


def no_stale_write_unsaid(walk):
    tx, _, _ = walk.find(CONTROLS, lambda new, old: old.get("state") == "manual" and new["state"] == "available")
    tx.changes = [c for c in tx.changes if c.table != "audit_events"]


def in_time(walk):
    _, _, old, verdict = walk.end_of_claim()
    verdict.row["judged_at"] = shifted(old["expires_at"], 0.001)


def in_time_given_back(walk):
    _, change, old = walk.find(CONTROLS, lambda new, old: old.get("state") == "claimed" and new["state"] == "available"
                               and new["ended_result"] == "released")
    change.row["due_at"] = shifted(old["expires_at"], 0.001)


def in_time_renewed(walk):
    _, change, old = walk.find(CONTROLS, lambda new, old: new["state"] == old.get("state") == "claimed"
                               and new["version"] == old["version"] and new["expires_at"] > old["expires_at"])
    change.row["expires_at"] = shifted(old["expires_at"], 60)


def judged_once(walk):
    tx, _, _, verdict = walk.end_of_claim()
    walk.after(tx, Change("judgements", "INSERT", dict(verdict.row)))


def as_told(walk):
    _, change, _, _ = walk.end_of_claim(lambda new, old, verdict: verdict["disposition"] == "retry" and verdict["result"] == "settled")
    change.row["state"] = "manual"


def manual_stays(walk):
    tx, _, _ = walk.find(CONTROLS, lambda new, old: old.get("state") == "manual" and new["state"] == "available"
                         and reclaimed(walk, new))
    walk.events.remove(tx)


def reclaimed(walk, row):
    return any(c.row["kind"] == row["kind"] and c.row["id"] == row["id"] and c.row.get("state") == "claimed"
               and int(c.row["version"]) > int(row["version"]) for _, c, _ in walk.steps if c.table == CONTROLS and c.act != "DELETE")


def retry_waits(walk):
    _, change, old = walk.find(CONTROLS, lambda new, old: new["state"] == "claimed" and old.get("state") == "retry")
    old["next_claim_at"] = shifted(change.row["claimed_at"], 30)


# --- dispatch ---------------------------------------------------------------------------------------------

DISPATCHES = "dispatches"


def permitted(new, old):
    return old and new["permit_digest"] and not old["permit_digest"]


def permit_once(walk):
    tx, change, _ = walk.find(DISPATCHES, permitted)
    walk.after(tx, Change(DISPATCHES, "UPDATE", {**change.row, "permit_digest": "\\x00"}))


def permit_once_unasked(walk):
    _, change, _ = walk.find(DISPATCHES, permitted)
    change.row["permit_digest"] = "\\x00"


def only_unsent_frees(walk):
    """A second attempt beside one that stands."""
    tx, change, _ = walk.find(DISPATCHES, permitted)
    walk.after(tx, Change(DISPATCHES, "INSERT", {**change.row, "attempt": "another", "permit_digest": None, "token_digest": "\\x00"}))


def only_unsent_frees_permitted(walk):
    tx, change, _ = walk.find(DISPATCHES, permitted)
    walk.after(tx, Change(DISPATCHES, "UPDATE", {**change.row, "state": "released", "judged_outcome": "not_sent"}))


def only_unsent_frees_by_another_id(walk):
    """not_sent of a permitted attempt, by somebody who has not made its permit id."""
    tx, change, _ = walk.find(DISPATCHES, lambda new, old: permitted(new, old) and new["writer"].startswith("wri")
                              and not walk.calls.not_sent_under(new["token_digest"]))
    walk.after(tx, Change(DISPATCHES, "UPDATE", {**change.row, "state": "released", "writer_outcome": "not_sent"}))


def only_unsent_frees_buried(walk):
    tx, change, _ = walk.find(DISPATCHES, lambda new, old: new["state"] == "succeeded")
    walk.after(tx, Change(DISPATCHES, "DELETE", {"attempt": change.row["attempt"]}))


def unknown_closed(walk):
    tx, change, _ = walk.find(DISPATCHES, lambda new, old: new["state"] == "unknown")
    walk.after(tx, Change(DISPATCHES, "UPDATE", {**change.row, "state": "released", "writer_outcome": "not_sent"}))


def released_stays(walk):
    tx, change, _ = walk.find(DISPATCHES, lambda new, old: new["state"] == "released")
    walk.after(tx, Change(DISPATCHES, "INSERT", {**change.row, "attempt": "another", "state": "claimed", "writer_outcome": None,
                                                 "judged_outcome": None, "permit_digest": None}))


def known_outcome(walk):
    tx, change, _ = walk.find(DISPATCHES, lambda new, old: new["writer_outcome"] == "succeeded")
    walk.after(tx, Change(DISPATCHES, "UPDATE", {**change.row, "state": "failed", "writer_outcome": "failed"}))


def fenced_judgement(walk):
    tx, _, _ = walk.find(DISPATCHES, lambda new, old: old and new["judged_outcome"] and not old["judged_outcome"])
    tx.changes = [c for c in tx.changes if c.table != "judgements"]


def right_attempt(walk):
    _, change, _ = walk.find(DISPATCHES, lambda new, old: old and new["judged_outcome"] and not old["judged_outcome"])
    change.row["token_digest"] = "\\x00"


def open_only(walk):
    _, _, old = walk.find(DISPATCHES, lambda new, old: old and new["judged_outcome"] and not old["judged_outcome"])
    old["observe_at"] = shifted(old["observe_at"], 3600)


def open_only_permitted(walk):
    _, change, _ = walk.find(DISPATCHES, lambda new, old: old and old["permit_digest"] and new["judged_outcome"] and not old["judged_outcome"])
    change.row["judged_outcome"] = "not_sent"


def one_call(walk):
    at = max(n for n, event in enumerate(walk.events) if isinstance(event, tuple))
    walk.events.insert(at + 1, (walk.events[at][0], "somebody else"))


def one_call_unpermitted(walk):
    at = max(n for n, event in enumerate(walk.events) if isinstance(event, tuple))
    walk.events.insert(at + 1, (("nobody", "asked"), "somebody else"))


PLANTS = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == __name__
          and name not in ("Walk", "shifted", "taken_over", "reclaimed", "permitted")]
RULES = ("one_holder", "one_page", "page_size", "token_once", "version_grows", "no_stale_write", "in_time", "judged_once",
         "as_told", "manual_stays", "retry_waits", "permit_once", "only_unsent_frees", "unknown_closed", "released_stays",
         "known_outcome", "fenced_judgement", "right_attempt", "open_only", "one_call")


def rule_of(plant):
    """The longest rule that its name begins with."""
    return max((rule for rule in RULES if plant.__name__.startswith(rule)), key=len)
