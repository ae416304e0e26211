#!/usr/bin/env python3
"""check.py [ROOT]: holds the manual to its rules. Prints each fault as file:line: what, and ends with 1 if there is any.

1. A link of a Markdown file leads to a file or folder that is there, and its #anchor to a heading of that page.
2. A `doc/....md` that any other source names is there, with its anchor.
3. Each page below doc/ can be reached from doc/index.md by links, those of doc/notes too.
4. A sentence of a page of the manual has WORDS words at most. Counted are words outside of tables and code; a piece of code in a
   line is one word. Pages of doc/notes are records, which stay as they were written.
5. A page of the manual is short: LINES lines at most, but for those that programs write.
6. A file or folder of the sources that a page of the manual names by its path, as `src/place/find_bands.c`, is there.
7. Each type of elements that tensors may have (TYPES) is named where a user reads which there are (TYPED): as i32, or as ONNX has it.
"""

import os
import re
import subprocess
import sys
import unicodedata

WORDS = 30
LINES = 260
WRITTEN = {"doc/zoo.md", "doc/onnx-backend.md"}  # by tests/onnx/zoo.py and backend.py
TYPES = "src/base/dtypes.inc"
TYPED = ["doc/types.md", "doc/graph-text.md", "doc/onnx.md", "include/pznet/pznet.h", "tools/pznet/tool.h", "python/pznet/compiling.py"]
ENDINGS = (".c", ".h", ".inc", ".py", ".pyi", ".sh", ".txt", ".cmake", ".in", ".proto", ".js", ".css", ".toml", ".yml", ".yaml", ".map")


def files(root):
    """All files that git knows or would take; of a tree without git, all files but builds."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted(f for f in listed.stdout.decode().split("\0") if f and os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def without_code(text):
    """The lines of a page; those of code blocks are empty. Fenced blocks, and indented ones that follow an empty line."""
    lines, fence, indented, before = [], None, False, ""
    for line in text.split("\n"):
        mark = re.match(r" *(```+|~~~+)", line)
        if fence:
            if mark and mark.group(1).startswith(fence):
                fence = None
            line = ""
        elif mark:
            fence, line = mark.group(1), ""
        elif re.match(r" {4,}\S", line) and (indented or not before.strip()):
            indented, line = True, ""
        elif line.strip():
            indented = False
        lines.append(line)
        before = line if line or not indented else ""
    return lines


def plain(line):
    """A line's text: code as one word, links and pictures as what they say."""
    line = re.sub(r"(`+)(.+?)\1", "code", line)
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return re.sub(r"[*_]{1,3}(\S|$)", r"\1", line)


def slug(heading):
    """The anchor that GitHub, and the site, give a heading."""
    heading = re.sub(r"`", "", heading)
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    kept = (c for c in heading if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def anchors(text):
    found = set()
    for line in without_code(text):
        heading = re.match(r"#{1,6} +(.*?)(?: +#+)?$", line)
        if heading:
            name, n = slug(heading.group(1)), 0
            while (name if not n else f"{name}-{n}") in found:
                n += 1
            found.add(name if not n else f"{name}-{n}")
    return found


def links(text):
    """(line, target) of all links and pictures of a page."""
    for number, line in enumerate(without_code(text), 1):
        line = re.sub(r"(`+)(.+?)\1", lambda m: m.group(0) if "](" not in m.group(0) else "", line)
        for target in re.findall(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", line):
            yield number, target


def sentences(text):
    """(line, sentence) of the running text of a page, list items and paragraphs apart."""
    blocks, block, start = [], [], 0
    for number, line in enumerate([*without_code(text), ""], 1):
        item = re.match(r"\s*(?:[-*+]|\d+\.) +", line)
        table = line.lstrip().startswith("|")
        heading = re.match(r"#{1,6} ", line)
        if not line.strip() or item or table or heading:
            if block:
                blocks.append((start, " ".join(block)))
            block = []
        if line.strip() and not table and not heading:
            if not block:
                start = number
            block.append(plain(line[item.end():] if item else line).strip())
    for start, text in blocks:
        for sentence in re.split(r"(?<=[.!?])[\")'*]* +|(?<=[.!?][\")]) +", text):
            yield start, sentence


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


class Check:
    def __init__(self, root):
        self.root = root
        self.faults = []
        self.files = files(root)
        self.pages = {f: read(root, f) for f in self.files if f.endswith(".md")}
        self.anchors = {page: anchors(text) for page, text in self.pages.items()}
        self.there = set(self.files) | {os.path.dirname(f) for f in self.files}
        while True:
            above = {os.path.dirname(f) for f in self.there} - self.there
            if not above:
                break
            self.there |= above

    def fault(self, path, line, what):
        self.faults.append(f"{path}:{line}: {what}")

    def target(self, path, line, target, name):
        """Whether a file of the tree and its anchor are there."""
        page, _, anchor = target.partition("#")
        page = os.path.normpath(page)
        if page not in self.there:
            self.fault(path, line, f"{name} is not there")
        elif anchor and anchor not in self.anchors.get(page, ()):
            self.fault(path, line, f"{name}: the page has no such heading")

    def check_links(self):
        for path, text in self.pages.items():
            for line, target in links(text):
                if re.match(r"[a-z]+:", target):
                    continue
                page, _, anchor = target.partition("#")
                full = os.path.join(os.path.dirname(path), page) if page else path
                self.target(path, line, os.path.normpath(full) + ("#" + anchor if anchor else ""), target)

    def check_mentions(self):
        for path in self.files:
            if path.startswith("tests/doc/") or not (path.endswith(ENDINGS) or "." not in os.path.basename(path)):
                continue
            for line, text in enumerate(read(self.root, path).split("\n"), 1):
                for target in re.findall(r"\bdoc/[A-Za-z0-9_./-]*\.md(?:#[A-Za-z0-9_-]*)?", text):
                    self.target(path, line, target, target)

    def check_reached(self):
        if "doc/index.md" not in self.pages:
            return self.fault("doc/index.md", 1, "is not there")
        reached, left = set(), ["doc/index.md"]
        while left:
            page = left.pop()
            if page in reached or page not in self.pages:
                continue
            reached.add(page)
            folder = os.path.dirname(page)
            left += [os.path.normpath(os.path.join(folder, t.partition("#")[0])) for _, t in links(self.pages[page])]
        for page in self.manual(notes=True):
            if page not in reached:
                self.fault(page, 1, "no way of links leads from doc/index.md to this page")

    def manual(self, notes=False):
        return [p for p in self.pages if p.startswith("doc/") and (notes or not p.startswith("doc/notes/"))]

    def check_sentences(self):
        for page in self.manual():
            for line, sentence in sentences(self.pages[page]) if page not in WRITTEN else ():
                count = len(words(sentence))
                if count > WORDS:
                    self.fault(page, line, f"a sentence of {count} words, {WORDS} are the most: {sentence[:60]}...")

    def check_length(self):
        for page in self.manual():
            lines = self.pages[page].count("\n")
            if page not in WRITTEN and lines > LINES:
                self.fault(page, 1, f"a page of {lines} lines, {LINES} are the most: divide it")

    def check_paths(self):
        roots = sorted({f.partition("/")[0] for f in self.there if "/" in f} - {"doc"})
        name = re.compile(r"(?<![\w/.-])(?:%s)/[\w./-]*\w(?![\w*<>{])" % "|".join(map(re.escape, roots)))
        for page in self.manual():
            for line, text in enumerate(self.pages[page].split("\n"), 1):
                for code in re.findall(r"`([^`]+)`", text):
                    for path in name.findall(code):
                        if path not in self.there:
                            self.fault(page, line, f"{path} is not there")

    def check_types(self):
        rows = re.findall(r'^PZ_DTYPE\(\w+, (\w+),.*"(\w+)", true\)', read(self.root, TYPES) if TYPES in self.there else "", re.M)
        for path in TYPED if rows else ():
            named = set(re.findall(r"\w+", read(self.root, path))) if path in self.there else set()
            for names in rows:
                if not named.intersection(names):
                    self.fault(path, 1, f"tensors may be of {names[0]}, which is not named")

    def all(self):
        self.check_links()
        self.check_mentions()
        self.check_reached()
        self.check_sentences()
        self.check_length()
        self.check_paths()
        self.check_types()
        return self.faults


if __name__ == "__main__":
    found = Check(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")).all()
    print("\n".join(found) if found else "every link, anchor and mention of the manual leads somewhere")
    sys.exit(1 if found else 0)
