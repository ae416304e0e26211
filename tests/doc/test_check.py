#!/usr/bin/env python3
"""test_check.py: check.py finds each kind of fault in a small manual, and none in one that is right."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check

RIGHT = {
    "README.md": "# Name\n\nSee [the manual](doc/index.md#one-thing), or `[no](link)`.\n",
    "doc/index.md": "# Index\n\n## One thing\n\n[Page](page.md), [notes](notes/2026-01-01-old.md).\n",
    "doc/page.md": "# Page\n\n## `--flag` and more\n\nText. [Back](index.md), [here](#flag---more), [src](../src).\n\n"
    "```\n[not](a-link.md)\n```\n\n    [neither](this.md)\n".replace("`--flag` and more", "flag & more").replace("#flag---more", "#flag--more"),
    "doc/notes/2026-01-01-old.md": "# Old\n\n" + "word " * 100 + ".\n",
    "src/a.c": "/* doc/page.md says why; doc/index.md#one-thing too. */\n",
}


class Faults(unittest.TestCase):
    def found(self, git=False, **changes):
        with tempfile.TemporaryDirectory() as root:
            tree = dict(RIGHT)
            for path, text in changes.items():
                path = path.replace("__", "/")
                tree[path if "." in path else path + (".c" if path.startswith("src") else ".md")] = text
            for path, text in tree.items():
                if text is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            if git:
                subprocess.run(["git", "init", "-q", root], check=True)
            return check.Check(root).all()

    def one(self, what, **changes):
        found = self.found(**changes)
        self.assertEqual(len(found), 1, found)
        self.assertIn(what, found[0])

    def test_right(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(git=True), [])

    def test_link(self):
        self.one("README.md:3: gone.md is not there", README="# N\n\n[x](gone.md)\n")

    def test_picture(self):
        self.one("README.md:1: p.png is not there", README="![x](p.png)\n")

    def test_anchor(self):
        self.one("doc/index.md#two: the page has no such heading", README="[x](doc/index.md#two)\n")

    def test_anchor_in_page(self):
        self.one("#nowhere", README="# N\n\n[x](#nowhere)\n")

    def test_mention(self):
        self.one("src/a.c:1: doc/gone.md is not there", src__a="/* doc/gone.md */\n")

    def test_mention_anchor(self):
        self.one("doc/page.md#no", src__a="\n/* doc/page.md#no */\n")

    def test_orphan(self):
        self.one("doc/alone.md:1: no way of links", doc__alone="# Alone\n")

    def test_types(self):
        rows = {"src/base/dtypes.inc": """PZ_DTYPE(PZ_A8, a8, char, 'a', "alpha8", true)\nPZ_DTYPE(PZ_B8, b8, char, 'b', "beta8", false)\n"""}
        with unittest.mock.patch.object(check, "TYPED", ["doc/page.md"]):
            self.one("doc/page.md:1: tensors may be of a8, which is not named", **rows)
            self.one("of a8", **rows, doc__page="# P\n\n`a88`, `b8`.\n")
            for name in "a8", "alpha8":
                self.assertEqual(self.found(**rows, doc__page=f"# P\n\n`{name}`.\n"), [])
            self.assertEqual(self.found(), [])
            with unittest.mock.patch.object(check, "TYPED", ["doc/gone.md"]):
                self.one("doc/gone.md:1:", **rows)

    def test_long_sentence(self):
        long = "# P\n\nShort one. " + "word " * check.WORDS + "`a b c` end.\n\nOther.\n"
        self.one(f"doc/page.md:3: a sentence of {check.WORDS + 2} words", doc__page=long)

    def test_long_item(self):
        self.one("doc/page.md:4: a sentence", doc__page="# P\n\n- One.\n- " + "word " * check.WORDS + "\n  end.\n")

    def test_not_long(self):
        parts = ["- " + "word " * 20 + ".\n", "- " + "word " * 20 + ".\n", "| " + "word " * 99 + "|\n", "\n```\n" + "word " * 99 + "\n```\n"]
        self.assertEqual(self.found(doc__page="# P\n\n" + "".join(parts)), [])

    def test_path(self):
        self.one("doc/page.md:3: src/b.c is not there", doc__page="# P\n\n`src/b.c`, `src/a.c`, `src/<kind>/b.c`, `build/src/c`, `src/*.c`\n")

    def test_long_page(self):
        self.one("divide it", doc__page="# P\n" + "\nText.\n" * check.LINES)


if __name__ == "__main__":
    unittest.main()
