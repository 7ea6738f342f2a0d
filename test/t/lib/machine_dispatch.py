"""The dispatch half of the protocol as an abstract machine that steps over a trace (docs/protocol.md). The
names of what it finds broken are those of the model."""

from trace import moment

DEFINITE = ("succeeded", "failed", "not_sent")
FACTS = ("override_outcome", "writer_outcome", "judged_outcome")
FIXED = ("request_uid", "item", "attempt_no", "action", "arguments", "writer", "token_digest", "lineage", "claimed_at")


def state_of(row):
    """What the three facts give; `released` is asked elsewhere."""
    facts = [row[name] for name in FACTS]
    definite = [fact for fact in facts if fact in DEFINITE]
    return definite[0] if definite else "unknown" if any(facts) else "claimed"


class Dispatch:
    """`calls.permit(token digest)` gives the digests of the permit ids that its writer made. `recovery` is the other
    half, which steps over a transaction first."""

    def __init__(self, calls, blame, recovery):
        self.calls, self.blame, self.recovery = calls, blame, recovery
        self.rows = {}
        self.items = {}         # (request, item) -> attempts, those that prune buried too
        self.called = {}        # (request, item) -> how often; told by called()
        self.steps = dict.fromkeys(("claim", "burn", "permit", "extend", "outcome", "release", "judge", "override", "bury"), 0)

    def transaction(self, tx):
        for change in tx.of("dispatches"):
            attempt = change.row["attempt"]
            old = self.rows.get(attempt)
            if change.act == "INSERT":
                self.begun(change.row)
            elif change.act == "UPDATE":
                self.changed(tx, old, change.row)
            else:
                self.buried(tx, attempt, old)
            if change.act != "DELETE":
                self.rows[attempt] = change.row

    def standing(self, item):
        return [row for row in (self.rows[a] for a in self.items.get(item, ())) if row["state"] != "released"]

    def begun(self, row):
        item = row["request_uid"], row["item"]
        if any(self.rows[a]["token_digest"] == row["token_digest"] for a in self.items.get(item, ())):
            self.blame("released_stays", f"{item}: a token begins anew: {row['writer']}")
        if row["permit_digest"] or row["judged_outcome"] or row["override_outcome"]:
            self.blame("permit_once", f"{item}: begins with a permit or a judgement: {row}")
        if row["state"] == "claimed":
            self.steps["claim"] += 1
            if self.standing(item):
                self.blame("only_unsent_frees", f"{item}: {row['writer']} claims beside {self.standing(item)[0]['writer']}")
        elif row["state"] == "released" and row["action"] is None and row["writer_outcome"] == "not_sent":
            self.steps["burn"] += 1
        else:
            self.blame("known_outcome", f"{item}: begins as {row['state']}: nobody reasserted or recorded")
        self.items.setdefault(item, []).append(row["attempt"])

    def changed(self, tx, old, new):
        item = new["request_uid"], new["item"]
        if old is None or any(old[name] != new[name] for name in FIXED):
            self.blame("right_attempt", f"{item}: is another attempt now: {old} {new}")
            return
        if (new["permit_digest"], new["permitted_at"]) != (old["permit_digest"], old["permitted_at"]):
            self.permitted(item, old, new)
        elif all(old[name] == new[name] for name in FACTS) and old["state"] == new["state"]:
            self.extended(item, old, new)
        if new["writer_outcome"] != old["writer_outcome"]:
            self.steps["outcome"] += 1
            self.said(item, "writer", old["writer_outcome"], new["writer_outcome"])
        if new["override_outcome"] != old["override_outcome"]:
            self.steps["override"] += 1
            self.said(item, "override", old["override_outcome"], new["override_outcome"])
            if not tx.of("audit_events", "INSERT"):
                self.blame("fenced_judgement", f"{item}: overridden, and nobody says by whom")
        if new["judged_outcome"] != old["judged_outcome"]:
            self.judged(tx, item, old, new)
        self.stands(item, old, new)

    def permitted(self, item, old, new):
        self.steps["permit"] += 1
        if old["permit_digest"]:
            self.blame("permit_once", f"{item}: {old['writer']} is permitted again")
        elif old["state"] != "claimed" or any(old[name] for name in FACTS):
            self.blame("permit_once", f"{item}: permitted although {old['state']}")
        known = self.calls.permits(new["token_digest"])
        if known is not None and new["permit_digest"] not in known:
            self.blame("permit_once", f"{item}: permitted under an id that {new['writer']} never made")

    def extended(self, item, old, new):
        self.steps["extend"] += 1
        if old["state"] != "claimed" and old["observe_at"] != new["observe_at"]:
            self.blame("open_only", f"{item}: extended although {old['state']}")

    def said(self, item, who, old, new):
        if old in DEFINITE or new is None:
            self.blame("known_outcome", f"{item}: what the {who} said, {old}, becomes {new}")

    def judged(self, tx, item, old, new):
        self.steps["judge"] += 1
        verdict = new["judged_outcome"]
        if old["judged_outcome"] or old["state"] != "claimed" or any(old[name] for name in FACTS):
            self.blame("open_only", f"{item}: judged {verdict} although {old['state']}")
        if verdict == "not_sent" and old["permit_digest"]:
            self.blame("open_only", f"{item}: judged not_sent although {old['writer']} is permitted")
        said = [c.row for c in tx.of("judgements", "INSERT")
                if c.row["kind"] == "dispatch" and c.row["result"] == "concluded"]
        if [(v["id"], v["verdict"]) for v in said] != [(new["attempt"], verdict)]:
            self.blame("fenced_judgement", f"{item}: {new['attempt']} judged {verdict}, history says {said}")
        elif moment(said[0]["judged_at"]) < moment(old["observe_at"]):
            self.blame("open_only", f"{item}: judged before it was overdue")

    def stands(self, item, old, new):
        """The state is what the facts give, and what frees an item is one of the two cases."""
        if new["state"] == "released":
            if old["state"] == "released":
                return
            self.steps["release"] += 1
            if old["state"] == "unknown":
                self.blame("unknown_closed", f"{item}: unknown is released")
            elif old["state"] != "claimed":
                self.blame("only_unsent_frees", f"{item}: {old['state']} is released")
            if "not_sent" not in (new["writer_outcome"], new["judged_outcome"]):
                self.blame("only_unsent_frees", f"{item}: released and nobody says not_sent")
            if old["permit_digest"]:
                given = self.calls.not_sent_under(new["token_digest"])
                if new["writer_outcome"] != "not_sent" or (given is not None and old["permit_digest"] not in given):
                    self.blame("only_unsent_frees", f"{item}: {old['writer']} is permitted, and released by others")
            if self.called.get(item):
                self.blame("only_unsent_frees", f"{item}: called by {self.called[item]}, and free")
        elif old["state"] == "released":
            if new["contradicted"] != "true" or new["writer_outcome"] not in ("succeeded", "failed"):
                self.blame("released_stays", f"{item}: the released attempt of {old['writer']} becomes {new['state']}")
        elif new["state"] != state_of(new):
            self.blame("known_outcome", f"{item}: the facts give {state_of(new)}, the state is {new['state']}")

    def buried(self, tx, attempt, old):
        self.steps["bury"] += 1
        graves = [c.row for c in tx.of("dispatch_tombstones", "INSERT") if c.row["attempt"] == attempt]
        if old is None or len(graves) != 1 or graves[0]["state"] != old["state"]:
            self.blame("only_unsent_frees", f"{attempt}: removed without a tombstone that says the same")
        elif old["state"] in ("claimed", "unknown"):
            self.blame("unknown_closed", f"{attempt}: {old['state']}, and removed")

    def call(self, item, who, early=None):
        """The action happened. Told when the trace has come at least as far as the permission; where that cannot be
        known yet, calls without one are put into `early`, for uncovered()."""
        before = self.called.setdefault(item, [])
        before.append(who)
        if len(before) > 1:
            self.blame("one_call", f"{item} is called by {before}")
        if early is None:
            self.uncovered([(item, who)])
        elif not self.covered(item):
            early.append((item, who))

    def covered(self, item):
        return any(row["permit_digest"] for row in self.standing(item))

    def uncovered(self, calls):
        """Blames those of the calls that no permission covers."""
        for item, who in calls:
            if not self.covered(item):
                self.blame("one_call", f"{item} is called by {who}, and no attempt with a permission stands")
