"""A scene: one situation that is set up, measured against its baseline, and checked.

A target that is not met is a finding and fails nothing. A check that does not hold is a defect of ql3: a page that
came back short, a target handed out twice or never, bytes written by an idle claim.
"""
import time

from report import circumstances, load_average

SCALES = ("smoke", "small", "full")


class Scene:
    def __init__(self, name, title, scale, server, extra=()):
        self.name, self.title, self.scale, self.server = name, title, scale, server
        self.extra = set(extra)
        self.figures, self.checks, self.notes = [], [], []
        self.circumstances = circumstances(scale)
        self.started = time.monotonic()

    def size(self, smoke, small, full):
        """What this scale takes of something."""
        return dict(zip(SCALES, (smoke, small, full)))[self.scale]

    def length(self, smoke, small, full):
        """How long a run of pgbench lasts: so many transactions of each client at smoke, else seconds."""
        return {"transactions": smoke} if self.scale == "smoke" else {"seconds": self.size(smoke, small, full)}

    @property
    def rounds(self):
        """How often the two sides run in turn."""
        return self.size(2, 3, 5)

    def database(self, part=""):
        """A database of its own for (a part of) this scene."""
        return self.server.database(self.name + part)

    def add(self, figure):
        self.figures.append(figure)

    def check(self, holds, what, detail=""):
        self.checks.append({"what": what, "holds": bool(holds), "detail": "" if holds else str(detail)})

    def note(self, text):
        """Something a reader of the figures must know; printed under the table."""
        self.notes.append(text)

    @property
    def sound(self):
        return all(check["holds"] for check in self.checks)

    def record(self):
        """The scene as a JSON object, when it is over."""
        return {"scene": self.name, "title": self.title, **self.circumstances, "load_after": load_average(),
                "seconds": round(time.monotonic() - self.started, 1),
                "figures": [figure.record() for figure in self.figures], "checks": self.checks, "notes": self.notes}
