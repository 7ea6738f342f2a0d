"""The recovery half of the protocol as an abstract machine that steps over a trace: what each committed
transaction may have done to a target, by docs/protocol.md and docs/promises.md. The names of what it finds
broken are those of the model."""

import re

from trace import moment

REACH = 5 * 60 * 1_000_000
# In a note `n=…`, in evidence `"n": "…"`, escaped once more where long evidence was cut.
NONCE = re.compile(r"\bn[\\\"]*[=:] ?[\\\"]*([a-z]+-[0-9.]+#[0-9]+)")
BY = re.compile(r"\bby[\\\"]*[=:] ?[\\\"]*([a-z]+-[0-9.]+)")
INCIDENT = ("run_id", "status", "lost_at")


def within_reach(clock, other):
    """The one predicate of a live claim and of a wait that still lasts."""
    return clock < other <= clock + REACH


def same_incident(a, b):
    return all(a[c] == b[c] for c in INCIDENT)


class Recovery:
    """`calls` knows what the callers did: page(digest), fence(nonce), is_supervisor(owner), leases(owner). With
    `steady`, the server's clock never stepped."""

    def __init__(self, calls, blame, steady):
        self.calls, self.blame, self.steady = calls, blame, steady
        self.rows = {}
        self.highest = {}       # of every target there ever was; what prune removes stays here
        self.floor = {}
        self.pages = {}
        self.judged = {}        # (kind, id, version) -> how the claim ended
        self.by_nonce = {}
        self.sources = {}       # (kind, id) -> (facts, since when)
        self.steps = dict.fromkeys(
            ("claim", "takeover", "renew", "give_back", "settle", "conclude", "vanish", "leave", "operate", "prune"), 0)

    def transaction(self, tx):
        for change in tx.of("recovery_kinds"):
            if change.act != "DELETE":
                self.floor[change.row["kind"]] = int(change.row["version_floor"])
        opened = self.opened(tx)
        before, after = {}, {}
        for change in tx.of("run_recovery_controls"):
            key = change.row["kind"], change.row["id"]
            before.setdefault(key, self.rows.get(key))
            after[key] = None if change.act == "DELETE" else change.row
        verdicts = {}
        for change in tx.of("judgements", "INSERT"):
            verdicts.setdefault((change.row["kind"], change.row["id"]), []).append(change.row)
        claimed = set()
        for key, old in before.items():
            if self.step(tx, key, old, after[key], verdicts.pop(key, []), opened):
                claimed.add(key)
            if after[key] is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = after[key]
        for key, left in verdicts.items():
            for verdict in left:
                self.put_back(key, verdict)
        for digest, page in opened.items():
            if claimed != page["targets"]:
                self.blame("one_page", f"page {digest[:12]} lists {page['targets']}, claimed are {claimed}")
        for change in tx.of("jobs"):
            if change.act != "DELETE":
                self.sources["job", change.row["id"]] = change.row, tx.at

    def put_back(self, key, verdict):
        """Nothing is judged without its row; but a takeover may see that a claim ran out, and then not take it."""
        row = self.rows.get(key)
        if verdict["result"] != "expired" or row is None or (row["state"], row["version"]) != ("claimed", verdict["version"]) \
                or within_reach(moment(verdict["judged_at"]), moment(row["expires_at"])):
            self.blame("judged_once", f"{key} is judged and its row does not change: {verdict}")

    def opened(self, tx):
        found = {}
        for change in tx.of("recovery_pages"):
            digest = change.row["token_digest"]
            if change.act == "DELETE":
                self.pages.pop(digest, None)
            elif change.act == "INSERT":
                row = change.row
                listed = list(zip(row["target_kinds"].strip("{}").split(","), row["target_ids"].strip("{}").split(",")))
                listed = [each for each in listed if each != ("", "")]
                page = found[digest] = {"owner": row["owner"], "targets": set(listed)}
                if digest in self.pages:
                    self.blame("token_once", f"page {digest[:12]} is opened again")
                if len(listed) > int(row["page_size"]):
                    self.blame("page_size", f"{len(listed)} targets of {row['page_size']}")
                if len(page["targets"]) < len(listed):
                    self.blame("disjoint", f"a target twice in {listed}")
                asked = self.calls.page(digest)
                if asked is None and not self.calls.is_supervisor(row["owner"]):
                    self.blame("one_page", f"nobody asked for the page of {row['owner']}")
                elif asked is not None and asked != (row["owner"], int(row["page_size"])):
                    self.blame("one_page", f"asked was {asked}, the page is {row['owner']}, {row['page_size']}")
                self.pages[digest] = page
        return found

    # --- one target -------------------------------------------------------------------------------

    def step(self, tx, key, old, new, verdicts, opened):
        """True when it is claimed."""
        expired = [v for v in verdicts if v["result"] == "expired"]
        ends = [v for v in verdicts if v["result"] != "expired"]
        for verdict in expired:
            if old is None or old["state"] != "claimed" or verdict["version"] != old["version"]:
                self.blame("one_holder", f"{key}: a claim that does not stand is said to have run out: {verdict}")
        if len(ends) > 1:
            self.blame("judged_once", f"{key}: {len(ends)} judgements at once")
        if new is None:
            if old is not None:
                self.pruned(tx, key, old)
            return False
        held = old is not None and old["state"] == "claimed"
        if new["state"] == "claimed" and (not held or new["version"] != old["version"]):
            self.claimed(tx, key, old, new, opened)
            if ends:
                self.blame("judged_once", f"{key}: judged in the transaction that claims it")
            return True
        if held and new["state"] == "claimed":
            self.renewed(tx, key, old, new)
        elif held and ends:
            self.ended(key, old, new, ends[0])
        elif held:
            self.freed(tx, key, old, new)
        elif old is None or any(old[c] != new[c] for c in ("state", "version", "next_claim_at", "failure_count")):
            self.operated(tx, key, old, new)
        if old is not None and new["version"] != old["version"]:
            self.blame("version_grows", f"{key}: {old['version']} becomes {new['version']} without a claim")
        return False

    def claimed(self, tx, key, old, new, opened):
        version, clock = int(new["version"]), moment(new["claimed_at"])
        self.steps["claim"] += 1
        if version <= self.highest.get(key, 0):
            self.blame("version_grows", f"{key}: version {version} after {self.highest[key]}")
        self.highest[key] = max(version, self.highest.get(key, 0))
        if not within_reach(clock, moment(new["expires_at"])):
            self.blame("in_time", f"{key}: a claim that was never valid: {new}")
        page = opened.get(new["token_digest"])
        if page is None or page["owner"] != new["owner"] or key not in page["targets"]:
            self.blame("one_page", f"{key}: claimed by {new['owner']} without a page")
        if old is None:
            return

        def lasts(until):
            # Each row is judged by a clock of its own, between the page's and the commit's.
            return within_reach(clock, moment(until)) and within_reach(tx.at, moment(until))

        if old["state"] == "claimed":
            self.steps["takeover"] += 1
            if lasts(old["expires_at"]):
                self.blame("one_holder", f"{key}: taken at {new['claimed_at']} from {old['owner']}, who holds it until {old['expires_at']}")
        elif old["state"] == "manual":
            self.blame("manual_stays", f"{key}: parked, and handed out to {new['owner']}")
        elif old["state"] == "retry" and lasts(old["next_claim_at"]):
            self.blame("retry_waits", f"{key}: waits until {old['next_claim_at']}, claimed at {new['claimed_at']}")
        elif old["state"] == "resolved" and same_incident(old, new) and lasts(old["next_claim_at"]):
            self.blame("retry_waits", f"{key}: resolved until {old['next_claim_at']}, claimed at {new['claimed_at']}")

    def renewed(self, tx, key, old, new):
        self.steps["renew"] += 1
        if (old["owner"], old["token_digest"]) != (new["owner"], new["token_digest"]):
            self.blame("no_stale_write", f"{key}: the claim of {old['owner']} is handed to {new['owner']}")
        was, becomes = moment(old["expires_at"]), moment(new["expires_at"])
        if becomes < was:
            self.blame("in_time", f"{key}: a renewal shortens")
        # When it was renewed is not on record: its lease tells.
        clocks = [becomes - lease for lease in self.calls.leases(old["owner"])]
        if becomes > was and not any(within_reach(clock, was) for clock in clocks):
            self.blame("in_time", f"{key}: renewed to {new['expires_at']} when {old['expires_at']} was over")
        if becomes > was and self.steady and becomes > tx.at + REACH:
            self.blame("in_time", f"{key}: renewed beyond every lease")

    def ended(self, key, old, new, verdict):
        """A claim ends with a judgement: by exactly its holder, in time, once, as it was told."""
        clock, name = moment(verdict["judged_at"]), (*key, old["version"])
        if name in self.judged:
            self.blame("judged_once", f"{name} is judged again: {verdict}")
        self.judged[name] = verdict
        if verdict["version"] != old["version"] or verdict["owner"] != old["owner"]:
            self.blame("no_stale_write", f"{key}: the judgement speaks of {verdict['owner']}, {verdict['version']}")
        if (verdict["note"] or "").startswith("owner vanished"):
            self.steps["vanish"] += 1
            if within_reach(clock, moment(old["expires_at"])):
                self.blame("one_holder", f"{key}: parked as vanished while {old['owner']} holds it")
            return
        concluded = verdict["verdict"] is not None
        self.steps["conclude" if concluded else "settle"] += 1
        if not within_reach(clock, moment(old["expires_at"])):
            self.blame("in_time", f"{key}: judged at {verdict['judged_at']}, held until {old['expires_at']}")
        self.by_its_holder(key, old, verdict)
        wanted = {"superseded": ("available", "resolved"), "parked": ("manual",),
                  "concluded": ("resolved", "available", "manual"), "stale": ("resolved", "available", "manual"),
                  "settled": {"retry": ("retry",), "manual": ("manual",)}.get(
                      verdict["disposition"], ("resolved", "available", "manual"))}[verdict["result"]]
        if new["state"] not in wanted:
            self.blame("as_told", f"{key}: {verdict['disposition']}, {verdict['result']}, and is {new['state']}")
        self.of_its_incident(key, old, verdict, clock)

    def by_its_holder(self, key, old, verdict):
        said = " ".join(filter(None, (verdict["note"], verdict["evidence"])))
        nonce, by = NONCE.search(said), BY.search(said)
        if nonce:
            fence = self.calls.fence(nonce.group(1))
            holds = (*key, old["owner"], old["token_digest"], int(old["version"]))
            if fence != holds:
                self.blame("no_stale_write", f"{nonce.group(1)} with {fence} judged the claim {holds}")
            if nonce.group(1) in self.by_nonce:
                self.blame("judged_once", f"{nonce.group(1)} judged twice")
            self.by_nonce[nonce.group(1)] = verdict
        elif by and by.group(1) != old["owner"]:
            self.blame("no_stale_write", f"{key}: {by.group(1)} judged what {old['owner']} holds")
        elif not nonce and not self.calls.is_supervisor(old["owner"]):
            self.blame("no_stale_write", f"{key}: nobody judged it: {verdict}")

    def of_its_incident(self, key, old, verdict, clock):
        """Retry and manual speak about the incident that was handed out. A change counts when it was there for a
        second: the server's own look may be as old as that only when the machine stands still."""
        now = self.sources.get(key)
        if verdict["result"] != "settled" or verdict["disposition"] == "resolved" or not now or not self.steady:
            return
        facts, since = now
        if since < clock - 1_000_000 and (facts["status"] != "running" or not same_incident(old, facts)):
            self.blame("one_incident", f"{key}: {verdict['disposition']} is stored of {old['run_id']}, it is {facts}")

    def freed(self, tx, key, old, new):
        """A claim ends without a judgement: given back, parked by an operator, or found over and not listed."""
        if new["state"] == "available":
            self.steps["give_back"] += 1
            if not within_reach(moment(new["due_at"]), moment(old["expires_at"])):
                self.blame("in_time", f"{key}: given back at {new['due_at']}, held until {old['expires_at']}")
        elif self.audited(tx, key):
            self.steps["operate"] += 1
        elif new["state"] == "resolved" and new["due_at"] is None:
            self.steps["leave"] += 1
            if within_reach(tx.at, moment(old["expires_at"])):
                self.blame("one_holder", f"{key}: let go while {old['owner']} holds it")
        else:
            self.blame("no_stale_write", f"{key}: the claim of {old['owner']} ends as {new['state']} and nobody says why")

    def operated(self, tx, key, old, new):
        if self.audited(tx, key):
            self.steps["operate"] += 1
        elif old is not None and old["state"] != "manual" and new["state"] == "resolved" and new["due_at"] is None:
            self.steps["leave"] += 1
        else:
            self.blame("no_stale_write", f"{key}: {old and old['state']} becomes {new['state']} and nobody says why")

    def pruned(self, tx, key, old):
        self.steps["prune"] += 1
        if self.floor.get(key[0], 0) < int(old["version"]):
            self.blame("version_grows", f"{key}: pruned at version {old['version']} above the floor")
        if old["state"] == "claimed" and within_reach(tx.at, moment(old["expires_at"])):
            self.blame("one_holder", f"{key}: pruned while {old['owner']} holds it")

    @staticmethod
    def audited(tx, key):
        return any((c.row["kind"], c.row["id"]) == key for c in tx.of("audit_events", "INSERT"))
