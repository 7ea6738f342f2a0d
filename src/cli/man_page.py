"""man_page.py PROGRAM: the manual page of the program, made of its own --help."""

import re
import subprocess
import sys

PROGRAM = sys.argv[1]
# Where CLI11 begins what is said of an option.
COLUMN = 30
ABOUT = """
.SH SIGNALS OF SUPERVISE
The first SIGTERM or SIGINT gives back what was not started and lets the probe in flight finish within
--grace; the second stops it at once. SIGHUP does nothing.
.SH ENVIRONMENT
libpq's own variables and service files fill what --dsn leaves out. Probes get PATH, HOME, USER, LOGNAME,
LANG, LC_*, TZ, TMPDIR and whatever begins with QL3_PROBE_. Under systemd (Type=notify) NOTIFY_SOCKET and
WATCHDOG_USEC are heeded.
.SH SEE ALSO
.BR psql (1),
.BR systemd.service (5)
"""


def help_of(*words):
    """What a command says of itself: description, items of each section by name, footer."""
    text = subprocess.run([PROGRAM, *words, "--help"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    sections, section = {"": []}, ""
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""]):
        if re.fullmatch(r"[A-Z][a-z]+:", line):
            section = line[:-1]
            sections[section] = []
        elif line.startswith("Usage: "):
            sections["Usage"], section = [line[len("Usage: "):]], "Usage"
        elif not line:
            section = section if section == "" else "End"
            sections.setdefault(section, [])
        elif line.startswith(" " * COLUMN):
            sections[section][-1][1].append(line.strip())
        elif line.startswith("  "):
            # A long name has its line to itself.
            at = len(line) if after.startswith(" " * COLUMN) else COLUMN
            sections[section].append((line[2:at].strip(), [line[at:].strip()] if line[at:] else []))
        else:
            sections[section].append(line)
    return sections


def roff(text):
    """Text as it is, whatever roff would make of it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...")
    return "\\&" + text if text[:1] in ".'" else text


def items(rows):
    for name, said in rows:
        yield ".TP\n\\fB" + roff(name) + "\\fR"
        yield roff(" ".join(said))


def page():
    version = subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    top = help_of()
    yield f'.TH QL3 1 "" "{version}" "User Commands"'
    yield ".SH NAME\nql3 \\- judges lost targets under fenced claims, dispatches at most once"
    yield ".SH SYNOPSIS\n\\fBql3\\fR [OPTIONS] COMMAND ..."
    yield ".SH DESCRIPTION"
    for line in top[""]:
        yield roff(line) + "\n.PP"
    yield ".SH OPTIONS"
    yield from items(top["Options"])
    yield ".SH COMMANDS"
    for name, said in top["Subcommands"]:
        yield ".SS " + roff(f"ql3 {name}")
        yield roff(" ".join(said))
        # Its own --help is that of another program.
        if name == "bench":
            continue
        own = help_of(name)
        for section in ("Positionals", "Options"):
            yield from items([row for row in own.get(section, []) if "--help" not in row[0]])
        for line in own.get("End", []):
            yield ".PP\n" + roff(line)
    yield ABOUT.strip()


print("\n".join(page()))
