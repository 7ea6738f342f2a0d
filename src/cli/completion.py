"""completion.py PROGRAM: the completion of bash, made of the program's own --help."""

import re
import subprocess
import sys

PROGRAM = sys.argv[1]


def options(*words):
    """Of each option of a command: its names, whether a value follows, and the values it may have."""
    said = subprocess.run([PROGRAM, *words, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for names, rest in re.findall(r"^  (-\S+)((?: \S+)*)", said, flags=re.M):
        value = re.match(r" (?!REQUIRED|Excludes:|Needs:)(\S+)", rest)
        choices = re.search(r"\{(.*?)\}", rest)
        yield names.split(","), bool(value), choices.group(1).split(",") if choices else []


def words_of(*lists):
    return " ".join(dict.fromkeys(name for options in lists for names, _, _ in options for name in names))


said = subprocess.run([PROGRAM, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
commands = re.findall(r"^  (\S+)", said.partition("Subcommands:")[2], flags=re.M)
everywhere = list(options())
# The benchmark's help is another program's.
own = {name: list(options(name)) for name in commands if name != "bench"}
chosen = [(at, names[-1], values) for at, of in [*own.items(), ("*", everywhere)] for names, _, values in of if values]
with_value = sorted({name for of in [*own.values(), everywhere] for names, value, _ in of if value for name in names})

print(f"""# Made of the program's own --help.
_ql3() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case ${{COMP_WORDS[at]}} in
    --) return ;;
    {'|'.join(commands)}) command=${{command:-${{COMP_WORDS[at]}}}} ;;
    esac
  done
  case $command:$before in""")
for at, name, values in chosen:
    print(f"  {at}:{name}) words='{' '.join(values)}' ;;")
print(f"""  {'|'.join('*:' + name for name in with_value)}) return ;;
  esac
  [ -n "$words" ] || case $command in
  '') words='{' '.join(commands)} {words_of(everywhere)}' ;;""")
for name, of in own.items():
    print(f"  {name}) words='{words_of(of, everywhere)}' ;;")
print("""  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _ql3 ql3""")
