"""`make html`: the pages of docs/ as a static site, by Sphinx with MyST."""

import os
import re
import shutil

project = "ql3"
extensions = ["myst_parser"]
root_doc = "README"
myst_heading_anchors = 4
html_theme = "alabaster"
html_theme_options = {"page_width": "1080px", "sidebar_width": "220px", "show_powered_by": False,
                      "description": "one supervisor at a time judges work whose owner is gone"}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_show_copyright = html_show_sourcelink = False
html_copy_source = False
# psql's own commands in blocks of SQL.
suppress_warnings = ["misc.highlighting_failure"]


def prepare(app, name, source):
    """A fence's words are for the tests, but for the first. The first page lists the others, in the order it names them."""
    text = re.sub(r"(?m)^( *```)signature$", r"\1text", source[0])
    text = re.sub(r"(?m)^( *```)(\w+) .*$", r"\1\2", text)
    if name == root_doc:
        pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md", text))
        others = sorted(app.env.found_docs - {root_doc} - set(pages))
        text += "\n```{toctree}\n:hidden:\n\n" + "\n".join([*pages, *others]) + "\n```\n"
    source[0] = text


def finish(app, error):
    if not error:
        shutil.copy(os.path.join(app.outdir, f"{root_doc}.html"), os.path.join(app.outdir, "index.html"))


def setup(app):
    app.connect("source-read", prepare)
    app.connect("build-finished", finish)
