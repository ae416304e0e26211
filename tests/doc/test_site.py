#!/usr/bin/env python3
"""test_site.py: the sources that `make doc` gives to Sphinx have no link that leads nowhere, and each page is in a table of contents."""

import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "doc/site"), os.path.dirname(os.path.abspath(__file__))]
import check
import stage


class Site(unittest.TestCase):
    def staged(self, folder, repository=""):
        stage.Stage(ROOT, folder, repository).all()
        pages = {}
        for where, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".md", ".rst")):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as file:
                        pages[os.path.relpath(path, folder)] = file.read()
        return pages

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = self.staged(folder)
            count = 0
            for page, text in pages.items():
                for line, target in check.links(text) if page.endswith(".md") else ():
                    if not re.match(r"[a-z]+:|#", target):
                        path = os.path.normpath(os.path.join(folder, os.path.dirname(page), target.partition("#")[0]))
                        self.assertTrue(os.path.isfile(path), f"{page}:{line}: {target}")
                        self.assertTrue(path.startswith(folder), f"{page}:{line}: {target}")
                        count += 1
            self.assertGreater(count, 200)
            for page in re.findall(r":doc:`/([^`]+)`", "".join(pages.values())):
                self.assertIn(page + ".md", pages)

    def test_contents(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = self.staged(folder)
            listed = {"index"}
            for page, text in pages.items():
                for body in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
                    listed |= {os.path.normpath(os.path.join(os.path.dirname(page), e)) for e in body.split("\n") if e and not e.startswith(":")}
            self.assertEqual(listed, {os.path.splitext(p)[0] for p in pages})

    def test_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = self.staged(folder, "https://example.org/x/")
            self.assertIn("](https://example.org/x/README.md)", pages["index.md"])
            self.assertIn("](reference/pznet.h.rst)", pages["c-api.md"])
            self.assertNotIn("](../", pages["index.md"])


if __name__ == "__main__":
    unittest.main()
