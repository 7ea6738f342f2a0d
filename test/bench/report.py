"""What the bench says: a table as it goes, and files at the end. Files are made from the records of figures.json, so
that a scene that is measured again takes the place of its earlier record and the others stay."""
import datetime
import json
import os
import platform
import subprocess

import chart
from figures import shown

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"


def target(figure):
    if not figure["target"]:
        return ""
    comparison, bound = figure["target"].split()
    return f"{comparison} {shown(float(bound))}"


def spread(figure):
    return "single" if figure["rounds"] == 1 else f"{shown(figure['low'])} … {shown(figure['high'])} of {figure['rounds']}"


def row(figure):
    """The cells of one figure: what, target, measured, spread, met, the two sides."""
    value = shown(figure["value"]) + ("" if figure["unit"] in ("ratio", "count") else " " + figure["unit"])
    met = {None: "", True: "met", False: "not met"}[figure["met"]]
    return [figure["what"], target(figure), value, spread(figure), met,
            ", ".join(f"{name} {shown(side)}" for name, side in figure["sides"].items())]


def print_scene(scene):
    print(f"\n{scene['scene']}  {scene['title']}  ({scene['seconds']:.0f} s)")
    for figure in scene["figures"]:
        what, wanted, got, between, met, sides = row(figure)
        print(f"  {what:<58} {wanted:>8} {got:>10}  {between:<22} {met:<8} {sides}")
    for check in scene["checks"]:
        if not check["holds"]:
            print(f"  DOES NOT HOLD: {check['what']}: {check['detail']}")
    for note in scene["notes"]:
        print(f"  {note}")
    print(f"  {sum(check['holds'] for check in scene['checks'])} of {len(scene['checks'])} checks held", flush=True)


def commit():
    """The commit of the source tree that the bench is run from, or "none"."""
    said = subprocess.run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    return said or "none"


def load_average():
    """Processes that want a core, over the last minute: above 0 at the beginning, somebody else is at work too."""
    return round(os.getloadavg()[0], 1)


def circumstances(scale):
    """When and of what a scene was measured."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%d %H:%M UTC"), "commit": commit(), "scale": scale, "load_before": load_average()}


def machine():
    """The shape of the machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cores": os.cpu_count(), "memory_gib": round(memory), "system": platform.system(), "processor": platform.machine()}


def merged(old, new):
    """The scenes of `old` with those of `new` in their places, in the order of their numbers."""
    scenes = {scene["scene"]: scene for scene in old + new}
    return sorted(scenes.values(), key=lambda scene: int(scene["scene"][1:]))


def markdown(record):
    """All figures as a table."""
    shape, settings = record["machine"], record["settings"]
    lines = [f"ql3 {record['ql3']} on PostgreSQL {record['server']}, {shape['cores']} cores and {shape['memory_gib']} GiB, fsync {settings['fsync']}, "
             f"shared_buffers {settings['shared_buffers']}, autovacuum {settings['autovacuum']}.", "",
             "| scene | what | target | measured | spread | | medians of the sides |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for scene in record["scenes"]:
        for figure in scene["figures"]:
            lines.append(f"| {scene['scene']} | " + " | ".join(cell.replace("|", "/") for cell in row(figure)) + " |")
    lines += ["", "| scene | measured | commit | scale | load before, after | seconds | checks held |",
              "| --- | --- | --- | --- | --- | --- | --- |"]
    for scene in record["scenes"]:
        held = sum(check["holds"] for check in scene["checks"])
        lines.append(f"| {scene['scene']} | {scene['date']} | `{scene['commit']}` | {scene['scale']} | {scene['load_before']}, "
                     f"{scene['load_after']} | {scene['seconds']:.0f} | {held} of {len(scene['checks'])} |")
    notes = [f"- {scene['scene']}: {note}" for scene in record["scenes"] for note in scene["notes"]]
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"


def put_into(path, text):
    """Replaces what stands between the two marks of a document."""
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, rest = whole.split(BEGIN)
    after = rest.split(END)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def write(scenes, about, out, document=None):
    """figures.json and chart.svg in the directory `out`, and the table in table.md there or between the marks of
    `document`. Returns what was written."""
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "figures.json")
    old = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = json.load(file)["scenes"]
    record = {"machine": machine(), **about, "scenes": merged(old, scenes)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1, ensure_ascii=False)
        file.write("\n")
    written = [path]
    if document:
        put_into(document, markdown(record))
        written.append(document)
    else:
        written.append(os.path.join(out, "table.md"))
        with open(written[-1], "w", encoding="utf-8") as file:
            file.write(markdown(record))
    drawn = os.path.join(out, "chart.svg")
    if chart.draw(record["scenes"], drawn):
        written.append(drawn)
    return written
