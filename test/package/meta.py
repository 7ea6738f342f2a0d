#!/usr/bin/python3 -B
"""meta.py [FILE]: whether META.json (or FILE) keeps the rules of PGXN's meta specification 1.0.0, and is true of this tree:
the extensions it provides are those that have a control file, in the version that this says. Prints what is wrong, a line
each; exit status 0 when nothing is."""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-?[A-Za-z][0-9A-Za-z-]*)?")
TERM = re.compile(r"[^\s/\\\x00-\x1f\x7f]{2,}")
LICENSES = set("""agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1
    lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted
    unknown""".split())
REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
OPTIONAL = {"description", "generated_by", "tags", "no_index", "prereqs", "release_status", "resources"}
PHASES = {"configure", "build", "test", "runtime", "develop"}
RELATIONS = {"requires", "recommends", "suggests", "conflicts"}


def controls():
    """Name and version of each extension here."""
    found = {}
    for path in sorted(ROOT.glob("*.control")):
        found[path.stem] = re.search(r"^default_version *= *'(.*)'", path.read_text(encoding="utf-8"), re.M).group(1)
    return found


def text(value):
    return isinstance(value, str) and value.strip() != ""


def words(value):
    return text(value) or isinstance(value, list) and value and all(map(text, value))


def of_spec(meta):
    """What breaks the specification's rules."""
    for key in sorted(REQUIRED - set(meta)):
        yield f"{key} is missing"
    for key in sorted(set(meta) - REQUIRED - OPTIONAL):
        if not re.match(r"x_", key, re.I):
            yield f"{key} is no key of the specification"
    if not TERM.fullmatch(str(meta.get("name"))):
        yield "name is no term"
    for key in ("abstract", "description", "generated_by"):
        if key in meta and not text(meta[key]):
            yield f"{key} is no text"
    if not words(meta.get("maintainer")):
        yield "maintainer names nobody"
    if not SEMVER.fullmatch(str(meta.get("version"))):
        yield f"version {meta.get('version')} is no semantic version"
    for name in [meta["license"]] if isinstance(meta.get("license"), str) else meta.get("license", []):
        if name not in LICENSES:
            yield f"license {name} is not known to PGXN"
    if meta.get("release_status", "stable") not in ("stable", "testing", "unstable"):
        yield f"release_status is {meta['release_status']}"
    spec = meta.get("meta-spec", {})
    if spec.get("version") != "1.0.0" or spec.get("url") != "https://pgxn.org/meta/spec.txt":
        yield "meta-spec is not 1.0.0"
    for tag in meta.get("tags", []):
        if not (text(tag) and len(tag) <= 256 and not re.search(r"[/\\\x00-\x1f]", tag)):
            yield f"tag {tag} cannot be one"
    for phase, relations in meta.get("prereqs", {}).items():
        if phase not in PHASES or set(relations) - RELATIONS:
            yield f"prereqs of {phase} are none"
        for package, version in (item for relation in relations.values() for item in relation.items()):
            if version != 0 and not re.fullmatch(rf"((>=|<=|==|!=|>|<)? *{SEMVER.pattern}(, *)?)+", str(version)):
                yield f"prereqs: {package} of version {version}"
    for name, provided in meta.get("provides", {}).items():
        if not TERM.fullmatch(name) or {"file", "version"} - set(provided) or \
                set(provided) - {"file", "version", "abstract", "docfile"}:
            yield f"provides {name}: not file and version, and perhaps abstract and docfile"
        if not SEMVER.fullmatch(str(provided.get("version"))):
            yield f"provides {name}: {provided.get('version')} is no semantic version"


def of_tree(meta):
    """What is not so here."""
    wanted, provides = controls(), meta.get("provides", {})
    if set(provides) != set(wanted):
        yield f"provides {sorted(provides)}, and there are {sorted(wanted)}"
    if meta.get("version") != wanted["ql3"]:
        yield f"version {meta.get('version')}, and ql3.control says {wanted['ql3']}"
    for name, provided in provides.items():
        if provided.get("version") != wanted.get(name):
            yield f"{name}: version {provided.get('version')}, and its control file says {wanted.get(name)}"
        for key in ("file", "docfile"):
            if key in provided and not (ROOT / str(provided[key])).is_file():
                yield f"{name}: there is no {provided[key]}"
    # Half of what it is for.
    for key in ("abstract", "description"):
        if "at most once" not in str(meta.get(key)) and "at-most-once" not in str(meta.get(key)):
            yield f"{key} does not speak of dispatch"


def main():
    try:
        meta = json.loads(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "META.json").read_text(encoding="utf-8"))
        wrong = [*of_spec(meta), *of_tree(meta)]
    except (ValueError, AttributeError, TypeError) as error:
        wrong = [f"not of the form: {error}"]
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
