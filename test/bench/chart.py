"""The chart: every ratio with a target, as how many times better than the target it is. gnuplot draws it."""
import shutil
import subprocess

# Better is to the right, whether the target is a most or a least; the line at 1 is the target.
PROGRAM = """
set terminal svg size 1000,{height} font 'sans-serif,12' background '#ffffff'
set output '{path}'
set title 'right of the line: target met'
set logscale x 2
set xtics ('1/64' 0.015625, '1/16' 0.0625, '1/8' 0.125, '1/4' 0.25, '1/2' 0.5, '1' 1, '2' 2, '4' 4, '8' 8)
set xlabel 'times better than the target'
set yrange [{last}.7:-0.7]
set ytics nomirror
set grid xtics
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb '#444444'
unset key
set bmargin 4
set style fill solid
$data << EOD
{data}
EOD
plot $data using 2:1:3:4:5:6:7:ytic(8) with boxxyerror lc rgb variable, \\
     '' using 2:1:9:10 with xerrorbars pt 7 ps 0.4 lc rgb '#222222'
"""
MET, MISSED = 0x3A7D44, 0xB3402E


def distance(value, target):
    """How many times better than its target a ratio is; below 1 it is missed."""
    comparison, bound = target.split()
    value = max(value, 1e-6)
    return value / float(bound) if comparison == ">=" else float(bound) / value


def line(n, scene, figure):
    """The data of one bar: place, value, box, colour, label, ends of the spread."""
    at = distance(figure["value"], figure["target"])
    ends = sorted(distance(figure[end] or figure["value"], figure["target"]) for end in ("low", "high"))
    label = f"{scene['scene']} {figure['what']}".replace('"', "")
    return (f'{n} {at:.4f} {min(at, 1):.4f} {max(at, 1):.4f} {n - 0.3:.2f} {n + 0.3:.2f} '
            f'{MET if figure["met"] else MISSED} "{label}" {ends[0]:.4f} {ends[1]:.4f}')


def draw(scenes, path):
    """Writes the SVG; False when there is no gnuplot or nothing to draw."""
    figures = [(scene, figure) for scene in scenes for figure in scene["figures"]
               if figure["target"] and figure["unit"] == "ratio"]
    if not figures or not shutil.which("gnuplot"):
        return False
    rows = [line(n, *each) for n, each in enumerate(figures)]
    program = PROGRAM.format(height=max(300, 110 + 26 * len(rows)), path=path, last=len(rows) - 1, data="\n".join(rows))
    # It also warns of labels that it then draws well.
    done = subprocess.run(["gnuplot"], input=program, text=True, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise RuntimeError(f"gnuplot failed: {done.stderr}")
    return True
