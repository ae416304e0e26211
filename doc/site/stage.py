#!/usr/bin/env python3
"""stage.py ROOT TO [REPOSITORY]: makes the folder of sources that Sphinx reads.

The pages of doc/, as they are but for two things. The sections of index.md become the site's table of contents. Links to
files outside of doc/ lead to a page of the site, to the file in REPOSITORY (the address of its files, as
https://example.org/pznet/blob/main), or nowhere: then their text stays. To these come SECURITY.md, and the reference of the
C headers and of the Python package.
"""

import os
import posixpath
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import headers

# files outside of doc/ that have a page, and the pages
PAGES = {
    "SECURITY.md": "security.md",
    "include/pznet/pznet.h": "reference/pznet.h.rst",
    "include/pznet/network_abi.h": "reference/network_abi.h.rst",
}

PYTHON = """The Python package
==================

.. module:: pznet

``pip install .`` installs it; :doc:`/python-api` begins with it.

.. autofunction:: pznet.compile

.. autofunction:: pznet.load

.. autoclass:: pznet.Network
   :members:
   :special-members: __call__

.. autoclass:: pznet.Port
   :members: shown

.. autofunction:: pznet.infer

.. autoclass:: pznet.PZNet
   :members:

.. exception:: pznet.Error

   What fails that is not wrong use. Its text is one line, which names the place and what to do.
"""


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    full = os.path.join(*path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


class Stage:
    def __init__(self, root, to, repository=""):
        self.root, self.to, self.repository = root, to, repository.rstrip("/")

    def link(self, page, source, match):
        """A link of the file `source`, whose page is `page`."""
        mark, text, target = match.group(1), match.group(2), match.group(3)
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        anchor = "#" + anchor if anchor else ""
        if path.startswith("doc/") and path.endswith(".md"):
            to = path[len("doc/"):]
        elif path in PAGES:
            to = PAGES[path]
        elif mark == "!":
            to = "pictures/" + path.replace("/", "-")
            os.makedirs(os.path.join(self.to, "pictures"), exist_ok=True)
            shutil.copy(os.path.join(self.root, path), os.path.join(self.to, to))
        elif self.repository:
            return f"{mark}[{text}]({self.repository}/{path}{anchor})"
        else:
            return text
        return f"{mark}[{text}]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{anchor})"

    def linked(self, text, page, source):
        """A page's text with its links as the site has them; code stays as it is."""
        parts = re.split(r"(^```.*?^```|^ {4,}.*?$|(?<!`)`[^`\n]+`(?!\]))", text, flags=re.S | re.M)
        change = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
        return "".join(part if i % 2 else change.sub(lambda m: self.link(page, source, m), part) for i, part in enumerate(parts))

    def contents(self, text):
        """index.md with a hidden table of contents for each section."""
        tables = []
        for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.S | re.M):
            pages = [t for t in re.findall(r"\]\(([^)#]+\.md)\)", body)]
            tables.append((title, ["notes/README" if p == "notes/README.md" else p[:-3] for p in pages]))
        tables.append(("Reference", ["reference/pznet.h", "reference/network_abi.h", "reference/python", "security"]))
        return text + "".join("\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n" % (title, "\n".join(pages)) for title, pages in tables)

    def records(self, text):
        pages = re.findall(r"\]\(([0-9][^)#]+)\.md\)", text)
        return text + "\n```{toctree}\n:hidden:\n\n%s\n```\n" % "\n".join(pages)

    def all(self):
        shutil.rmtree(self.to, ignore_errors=True)
        folder = os.path.join(self.root, "doc")
        for where, _, names in os.walk(folder):
            for name in sorted(names):
                page = posixpath.normpath(os.path.relpath(os.path.join(where, name), folder))
                if not name.endswith(".md") or page.startswith("site/"):
                    continue
                text = self.linked(read(folder, page), page, "doc/" + page)
                text = self.contents(text) if page == "index.md" else self.records(text) if page == "notes/README.md" else text
                write(text, self.to, page)
        for source, page in PAGES.items():
            text = read(self.root, source)
            name = posixpath.basename(source)
            write(headers.page(name, text) if name.endswith(".h") else self.linked(text, page, source), self.to, page)
        write(PYTHON, self.to, "reference/python.rst")
        shutil.copy(os.path.join(folder, "site/conf.py"), os.path.join(self.to, "conf.py"))


if __name__ == "__main__":
    Stage(*sys.argv[1:]).all()
