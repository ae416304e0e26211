"""conf.py: how Sphinx makes the site of the manual. stage.py has made the folder of sources; `make doc` runs both."""

import importlib.util
import inspect
import os
import re
import sys

ROOT = os.environ["PZ_DOC_ROOT"]  # of the project
sys.path.insert(0, os.path.join(ROOT, "python"))

project = "pznet"
author = "the pznet authors"
copyright = "the pznet authors, Apache-2.0"
with open(os.path.join(ROOT, "include/pznet/pznet.h"), encoding="utf-8") as header:
    version = release = re.search(r'PZ_VERSION "([^"]+)"', header.read()).group(1)

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
html_theme = "furo"
html_title = f"pznet {release}"
html_show_sphinx = False
html_copy_source = False
templates_path = []

myst_heading_anchors = 4
myst_enable_extensions = []
suppress_warnings = ["misc.highlighting_failure"]  # a piece of C with "..." in it
nitpicky = False
c_maximum_signature_line_length = 100
python_maximum_signature_line_length = 100

# ---- the Python package: its sources as they are; what is compiled, and what it brings along, is not needed ----
autodoc_mock_imports = [m for m in ("pznet._net", "pznet._pznet", "numpy", "numpy.typing") if m.startswith("pznet.") or not importlib.util.find_spec(m.split(".")[0])]
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# the keywords of pznet.compile, which has them as one argument
KEYWORDS = {"weights", "isa", "cc", "emit_c", "disable", "precision", "max_error", "inputs", "progress", "effort", "tuning", "threads", "output", "second"}


def parameters_as_list(app, what, name, obj, options, lines):
    """`name: what it is` in a docstring becomes an item of a list, where name is an argument."""
    if what not in ("function", "method", "class"):
        return
    names = set(inspect.signature(obj).parameters) - {"self"} | (KEYWORDS if name.endswith(".compile") else set())
    if not names:
        return
    text = "\n".join(lines)
    label = re.compile(r"(?:^|(?<=[.;)] ))((?:%s)(?:, (?:%s))*): " % (("|".join(map(re.escape, names)),) * 2), re.M)
    out, at = [], 0
    for paragraph in text.split("\n\n"):
        parts = label.split(paragraph)
        if len(parts) < 3:
            out.append(paragraph)
            continue
        if parts[0].strip():
            out.append(parts[0].rstrip())
        for key, said in zip(parts[1::2], parts[2::2]):
            said, *behind = re.split(r"\n(?=Returns |Raises |Warns )", said.rstrip(), maxsplit=1)
            out.append(f"- **{key}**: " + re.sub(r"\s*\n\s*", "\n  ", said.strip()))
            out += [b.strip() for b in behind]
    lines[:] = "\n\n".join(out).split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", parameters_as_list)
