#!/usr/bin/env python3
"""test_headers.py: the reference page of a header has each of its declarations and every word of its comments."""

import os
import re
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "doc/site"))
import headers

SMALL = """/* small.h: a header.
 *
 *     cc small.c
 */
#ifndef SMALL_H
#define SMALL_H

#include <stdint.h>

#define PZ_MOST 5 /* of them */

/* ------------------------- things */

/* Of *all. */
typedef enum pz_kind {
  PZ_A = 1, /* the first; or so */
  PZ_B
} pz_kind;

typedef struct pz_thing pz_thing;
typedef struct pz_pair {
  /* what it is,
   * in two lines */
  const char *name, *other;
  int32_t (*call)(void *host, int32_t n); /* called */
  union {
    int32_t now;
    int32_t before; /* its older name */
  };
  int32_t last;
} pz_pair;

/* Makes `one` (pz_pair). */
int pz_make(pz_pair *pair,
            int n);
void pz_drop(pz_pair *pair); /* frees */

enum { PZ_X = 3, /* an x */ PZ_Y };
typedef void (*pz_call)(int a, int b);
#endif
"""


def words(text):
    return re.findall(r"\w+", re.sub(r":c:\w+:|:doc:|\\", "", text))


def signatures(page):
    """What the directives of a page declare."""
    found, going_on = [], False
    for line in page.split("\n"):
        directive = re.match(r" *\.\. c:\w+:: (.*)", line)
        going_on = bool(directive or (going_on and line.strip()))
        if going_on:
            found.append(directive.group(1) if directive else line)
    return "\n".join(found)


class Headers(unittest.TestCase):
    def test_small(self):
        page = headers.page("small.h", SMALL)
        for wanted in (
            "small.h\n=======\n\na header.\n\n::\n\n    cc small.c\n",
            ".. c:macro:: PZ_MOST\n\n   ``5``\\ \n\n   of them\n",
            "Things\n------\n",
            ".. c:enum:: pz_kind\n\n   Of \\*all.\n\n   .. c:enumerator:: PZ_A = 1\n\n      the first; or so\n\n   .. c:enumerator:: PZ_B\n",
            ".. c:struct:: pz_thing\n",
            ".. c:struct:: pz_pair\n\n   .. c:member:: const char *name\n                 const char *other\n\n      what it is, in two lines\n",
            "   .. c:member:: int32_t (*call)(void *host, int32_t n)\n\n      called\n",
            "   .. c:member:: int32_t now\n\n   .. c:member:: int32_t before\n\n      its older name\n\n   .. c:member:: int32_t last\n",
            ".. c:function:: int pz_make(pz_pair *pair, int n)\n                void pz_drop(pz_pair *pair)\n\n   Makes ``one``\\  (:c:struct:`pz_pair`\\ ).\n",
            "   ``pz_drop``\\ : frees\n",
            "\n.. c:macro:: PZ_X\n\n   ``3``\\ \n\n   an x\n\n.. c:macro:: PZ_Y\n",
            ".. c:type:: void (*pz_call)(int a, int b)\n",
        ):
            self.assertIn(wanted, page)

    def whole(self, name):
        with open(os.path.join(ROOT, "include/pznet", name), encoding="utf-8") as file:
            code = file.read()
        return code, headers.page(name, code)

    def test_words(self):
        """Nothing that a comment says is lost."""
        for name in ("pznet.h", "network_abi.h"):
            code, page = self.whole(name)
            there = " ".join(words(page)).lower()
            for comment in re.findall(r"/\*.*?\*/", code, re.S):
                said = headers.comment_text(comment)
                for line in said.split("\n"):
                    line = re.sub(r"-{5,}|^" + re.escape(name) + ":|doc/([a-z0-9-]+)\\.md", r"\1", line)
                    self.assertIn(" ".join(words(line)).lower(), there)

    def test_declarations(self):
        code, page = self.whole("pznet.h")
        bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
        functions = set(re.findall(r"\b(pz_\w+)\(", bare))
        constants = set(re.findall(r"\b(PZ_[A-Z0-9_]+)\b(?! +\{)", re.sub(r"^#.*$", "", bare, flags=re.M)))
        members = set()
        for struct in re.findall(r"typedef struct \w+ \{(.*?)\}", bare, re.S):
            members |= set(re.findall(r"(\w+)(?:\[\w+\])?[;,]", re.sub(r"\([^*].*?\)", "", struct)))
        self.assertGreater(len(functions), 30)
        self.assertGreater(len(constants), 40)
        self.assertGreater(len(members), 50)
        there = set(re.findall(r"\w+", signatures(page)))
        self.assertEqual((functions | constants | members) - there, set())


if __name__ == "__main__":
    unittest.main()
