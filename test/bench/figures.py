"""Figures: what a scene measured, what was wanted of it, and the arithmetic between the two.

A ratio is made of pairs, because the two sides run in turn (A B A B …) and the machine is never the same
for long. Its value is the ratio of the two medians; its spread is the least and the greatest ratio of a pair.
"""
import dataclasses
import operator
import statistics

COMPARE = {"<=": operator.le, ">=": operator.ge, "=": operator.eq}


@dataclasses.dataclass
class Figure:
    """One measured value. `target` is (comparison, bound), or None for what is only reported."""
    what: str
    value: float
    unit: str = "ratio"
    target: tuple = None
    low: float = None
    high: float = None
    rounds: int = 1
    sides: dict = dataclasses.field(default_factory=dict)

    @property
    def met(self):
        return None if self.target is None else COMPARE[self.target[0]](self.value, self.target[1])

    def record(self):
        """As a JSON object."""
        return {"what": self.what, "value": self.value, "unit": self.unit,
                "target": self.target and " ".join(map(str, self.target)), "met": self.met,
                "low": self.low, "high": self.high, "rounds": self.rounds, "sides": self.sides}


def median(values):
    if not values:
        raise ValueError("no values to take the median of")
    return statistics.median(values)


def ratio(what, over, under, target=None, names=("ql3", "baseline")):
    """The figure `over / under` of two lists that were measured in turn, pair by pair."""
    if len(over) != len(under) or not over:
        raise ValueError(f"{what}: {len(over)} and {len(under)} measurements make no pairs")
    pairs = [a / b for a, b in zip(over, under)]
    return Figure(what, median(over) / median(under), "ratio", target, min(pairs), max(pairs), len(pairs),
                  dict(zip(names, (median(over), median(under)))))


def several(what, values, unit, target=None):
    """The median of several measurements of one thing."""
    return Figure(what, median(values), unit, target, min(values), max(values), len(values))


def shown(value):
    """A number for people: three digits that count, thousands apart."""
    if value is None:
        return ""
    if isinstance(value, int) or abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"
