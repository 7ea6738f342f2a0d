"""The outside ledger: a file that is only ever appended to, one JSON object a line, by every caller before it
sends and after it was answered, and by the action itself. What a server forgets or invents shows against it."""

import hashlib
import json
import os
import uuid


class Ledger:
    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def say(self, **what):
        """One write, so that lines of different processes do not mix and a killed one leaves none in half."""
        os.write(self.file, (json.dumps(what, default=str) + "\n").encode())


def digest(*parts):
    return "\\x" + hashlib.sha256(b"".join(parts)).hexdigest()


class Calls:
    """What the ledger, and the ledger of the action, say so far. read() goes on where it was."""

    def __init__(self, path, actions, installation, database, supervisors):
        self.files = {path: 0, actions: 0}      # how far each was read
        self.bound = uuid.UUID(installation).bytes + int(database).to_bytes(4, "big")
        self.supervisors = supervisors          # name -> lease in seconds
        self.entries = []                       # in their order
        self.sent = {}                          # nonce -> its first intent
        self.answers = {}                       # nonce -> words and errors
        self.pages, self.permit_ids, self.given_back, self.actions = {}, {}, {}, []

    def bind(self, token):
        return digest(uuid.UUID(token).bytes, self.bound)

    def read(self):
        for path, at in self.files.items():
            with open(path, "rb") as file:
                file.seek(at)
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self.files[path] = at + whole
            for line in data[:whole].splitlines():
                self.add(json.loads(line))
        return self

    def add(self, entry):
        self.entries.append(entry)
        if "op" in entry:
            self.sent.setdefault(entry["n"], entry)
            if entry["op"] == "claim":
                self.pages[self.bind(entry["token"])] = entry["owner"], entry["size"]
            elif entry["op"] == "d.permit":
                self.permit_ids.setdefault(self.plain(entry["token"]), set()).add(
                    digest(uuid.UUID(entry["permit"]).bytes))
            elif entry["op"] == "d.claim":
                self.permit_ids.setdefault(self.plain(entry["token"]), set())
            elif entry["op"] == "d.settle" and entry["outcome"] == "not_sent":
                permit = entry["permit"]
                self.given_back.setdefault(self.plain(entry["token"]), set()).add(
                    permit and digest(uuid.UUID(permit).bytes))
        elif "call" in entry:
            self.actions.append(entry)
        elif "n" in entry:
            self.answers.setdefault(entry["n"], []).append(entry)

    @staticmethod
    def plain(token):
        return digest(uuid.UUID(token).bytes)

    # --- what the machine asks --------------------------------------------------------------------

    def page(self, page_digest):
        return self.pages.get(page_digest)

    def fence(self, nonce):
        entry = self.sent.get(nonce)
        return entry and (entry["kind"], entry["id"], entry["owner"], self.bind(entry["token"]), int(entry["version"]))

    def is_supervisor(self, owner):
        return owner in self.supervisors

    def leases(self, owner):
        """In microseconds, all that this owner ever asks for."""
        seconds = [self.supervisors[owner]] if owner in self.supervisors else RAW_LEASES
        return [round(each * 1_000_000) for each in seconds]

    def permits(self, token_digest):
        return self.permit_ids.get(token_digest)

    def not_sent_under(self, token_digest):
        return self.given_back.get(token_digest, set()) if token_digest in self.permit_ids else None


RAW_LEASES = (1, 2, 4)
STORED = ("settled", "concluded", "stale")


def stale_and_forged(calls):
    """What a fence that was overtaken, or never was one, was answered: (rule, text) of each breach. From the
    ledger alone: a claim of a higher version had been answered before the call was sent."""
    newest, broken = {}, []
    overtaken, judged = {}, {}
    for entry in calls.entries:
        if "rows" in entry:
            for kind, target, version in entry["rows"]:
                newest[kind, target] = max(newest.get((kind, target), 0), version)
        elif entry.get("op") in ("settle", "conclude", "renew", "give_back", "require_fence", "own"):
            if entry.get("forged"):
                overtaken[entry["n"]] = "forged"
            elif entry.get("late") and entry["version"] < newest.get((entry["kind"], entry["id"]), 0):
                overtaken[entry["n"]] = "overtaken"
        elif "word" in entry and entry["n"] in calls.sent:
            how = overtaken.get(entry["n"])
            if how and entry["word"] != "fenced":
                broken.append(("no_stale_write", f"{how}: {calls.sent[entry['n']]} was answered {entry['word']}"))
            sent = calls.sent[entry["n"]]
            if entry["word"] in STORED and sent["op"] in ("settle", "conclude", "own"):
                name = sent["kind"], sent["id"], sent["version"]
                if judged.setdefault(name, entry["n"]) != entry["n"]:
                    broken.append(("judged_once", f"{name} was judged by {judged[name]} and by {entry['n']}"))
    return broken, len(overtaken)
