"""headers.py: a C header as a reference page in reStructuredText, from its declarations and comments.

A comment belongs to what stands behind it, up to an empty line; one on the line of a declaration, or behind a comma or
semicolon, belongs to that. A comment with a row of dashes begins a section. The page has every word of every comment
(tests/doc/test_headers.py).
"""

import re


class Item:
    """A declaration: `kind` is the directive, `signatures` what it declares, `text` its comments, `members` those of its braces."""

    def __init__(self, kind, signature, text=""):
        self.kind, self.signatures, self.text, self.members = kind, [signature], text, []

    @property
    def name(self):
        return name_of(self.signatures[0])


def name_of(signature):
    pointer = re.search(r"\(\*\s*(\w+)\)", signature)
    if pointer:
        return pointer.group(1)
    return re.findall(r"\w+", re.sub(r"\(.*|\[.*|=.*", "", signature))[-1]


def comment_text(comment):
    """What a comment says: without its marks and stars; empty lines part paragraphs."""
    inner = re.sub(r"^/\*+|\*/$", "", comment.strip())
    first, *rest = inner.split("\n")
    return "\n".join([first.strip(), *(re.sub(r"^\s*\*( |$)", "", line).rstrip() for line in rest)]).strip()


def pieces(code):
    """Cuts C into (kind, text): "comment", "blank" (an empty line), "line" (the preprocessor's), "end" (; or ,), "open", "close", "code"."""
    token = re.compile(r"/\*.*?\*/|\n[ \t]*\n|\n|^[ \t]*#(?:[^\n\\/]|\\\n|\\.|/(?!\*))*|[{}]|[;,]|[^{};,/\n]+|/", re.S | re.M)
    depth = 0
    for match in token.finditer(code):
        text = match.group(0)
        if text.startswith("/*"):
            yield "comment", text
        elif text.startswith("\n"):
            yield ("blank" if text.count("\n") > 1 else "newline"), text
        elif re.match(r"[ \t]*#", text):
            yield "line", text
        elif text == "{":
            yield "open", text
        elif text == "}":
            yield "close", text
        elif text == ";" or (text == "," and depth == 0):
            yield "end", text
        else:
            depth += text.count("(") - text.count(")")
            yield "code", text


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def apart(member):
    """`int *a, b` as `int *a` and `int b`."""
    if "(" in member or "," not in member:
        return [member]
    first, *rest = (part.strip() for part in member.split(","))
    type_of_all = re.match(r"(.*?)\s*\**\w+(\[.*)?$", first).group(1)
    return [first, *(f"{type_of_all} {part}" for part in rest)]


class Reader:
    def __init__(self, code):
        self.sections = [("", [])]
        self.head = ""
        self.waiting = []   # comments in front of what comes
        self.code = ""      # of the declaration that is being read
        self.last = None    # the declaration before, whose line may still have a comment
        self.fresh = True   # nothing of this line has been read
        self.group = None   # a declaration whose comment counts for those that follow without an empty line
        self.brace = None   # the struct or enum whose members are being read
        self.inner = False  # within a union without a name in it, whose members count as its own
        for kind, text in pieces(code):
            getattr(self, "on_" + kind)(text)

    # ---- pieces ----

    def on_comment(self, text):
        said = comment_text(text)
        section = re.match(r"-{5,} *(.*)", said)
        if section:
            self.sections.append((section.group(1), []))
        elif self.last is not None and not self.fresh and not self.code.strip():
            if len(self.last.signatures) > 1 and self.last.kind == "function":
                said = f"`{name_of(self.last.signatures[-1])}`: {said}"
            self.last.text = (self.last.text + "\n\n" + said).strip()
        elif not self.head and not self.sections[-1][1] and len(self.sections) == 1 and not self.waiting:
            self.head = said
        else:
            self.waiting.append(said)

    def on_newline(self, _):
        if not self.code.strip():
            self.fresh, self.last = True, None if self.fresh else self.last
        self.fresh = True

    def on_blank(self, text):
        self.on_newline(text)
        self.last = None
        if self.brace is None:
            self.group = None
            if self.waiting:  # a comment for a whole section
                self.take(Item("text", "", "\n\n".join(self.waiting)))
                self.waiting = []

    def on_line(self, text):
        define = re.match(r"\s*#\s*define\s+(\w+)(\([^)]*\))?\s*(.*)", text, re.S)
        if define and define.group(3).strip() and not define.group(1).endswith("_H"):
            value = squeeze(define.group(3).replace("\\\n", " "))
            self.last = self.take(Item("macro", define.group(1) + (define.group(2) or ""), f"`{value}`\n\n{self.said()}".strip()))
        self.fresh = False

    def on_open(self, _):
        head = squeeze(self.code)
        self.code = ""
        if head.startswith("extern"):
            return
        if self.brace is not None:
            self.inner = True
            return
        kind = "enum" if re.search(r"\benum\b", head) else "struct"
        name = re.sub(r"^typedef\b|\b(enum|struct)\b", "", head).strip()
        self.brace = self.take(Item(kind, name, self.said()))
        self.last, self.fresh = self.brace, False

    def on_close(self, _):
        if self.brace is None:
            return
        if self.code.strip():
            self.member()
        if not self.inner:
            self.brace = None
        self.inner, self.code = False, "}"

    def on_end(self, text):
        if self.code.startswith("}"):  # the name behind the braces
            self.code = ""
        elif self.brace is not None and (text == ";" or self.brace.kind == "enum"):
            self.member()
        elif text == ",":
            self.code += text
            return
        elif squeeze(self.code):
            self.declaration(squeeze(self.code))
        self.code, self.fresh = "", False

    def on_code(self, text):
        self.code += text
        if text.strip():
            self.fresh = False

    # ---- declarations ----

    def said(self):
        text, self.waiting = "\n\n".join(self.waiting), []
        return text

    def take(self, item):
        self.sections[-1][1].append(item)
        return item

    def member(self):
        kind = "enumerator" if self.brace.kind == "enum" else "member"
        item = Item(kind, squeeze(self.code), self.said())
        item.signatures = apart(item.signatures[0])
        self.brace.members.append(item)
        self.last, self.code = item, ""

    def declaration(self, text):
        said = self.said()
        if text.startswith("typedef"):
            kind, text = "type", re.sub(r"^typedef ", "", text)
            opaque = re.fullmatch(r"struct (\w+) \1", text)
            if opaque:
                kind, text = "struct", opaque.group(1)
        else:
            kind = "function" if "(" in text else "var"
        if not said and self.group is not None and self.group.kind == kind == "function" and self.group.text:
            self.group.signatures.append(text)
            self.last = self.group
            return
        self.last = self.take(Item(kind, text, said))
        self.group = self.last if said else None


# ---- the page ----

def escape(text):
    return re.sub(r"([\\*_`|])", r"\\\1", text)


def linked(text, roles, own):
    """A paragraph in which code is code, and names of the header's declarations and of the manual's pages are links."""
    out = []
    for part in re.split(r"(`[^`]+`|\bdoc/[a-z0-9-]+\.md|\b(?:pz|PZ)_\w+)", text):
        role = roles.get(part)
        if re.fullmatch(r"`[^`]+`", part):
            out.append(f"`{part}`\\ ")
        elif re.fullmatch(r"doc/[a-z0-9-]+\.md", part):
            out.append(f":doc:`/{part[4:-3]}`\\ ")
        elif role and part not in own:
            out.append(f":c:{role}:`{part}`\\ ")
        else:
            out.append(escape(part))
    return "".join(out)


def paragraphs(text, roles, own, indent):
    lines = []
    for paragraph in re.split(r"\n\s*\n", text):
        body = paragraph.strip("\n").rstrip()
        if not body.strip():
            continue
        if re.match(r" {4,}", body):  # code
            lines += [indent + "::", ""] + [indent + "    " + line.strip() for line in body.split("\n")] + [""]
        else:
            lines += [indent + linked(squeeze(body), roles, own), ""]
    return lines


def directive(item, roles, indent=""):
    own = {name_of(s) for s in item.signatures if s}
    if item.kind == "text":
        return paragraphs(item.text, roles, own, indent)
    first = f"{indent}.. c:{item.kind}:: "
    if item.kind == "enum" and not item.signatures[0]:  # without a name: the enumerators as constants
        lines = paragraphs(item.text, roles, own, indent)
        for member in item.members:
            name, _, value = member.signatures[0].partition(" = ")
            lines += directive(Item("macro", name, "\n\n".join(filter(None, (value and f"`{value}`", member.text)))), roles, indent)
        return lines
    lines = [first + item.signatures[0]] + [" " * len(first) + s for s in item.signatures[1:]] + [""]
    inner = indent + "   "
    lines += paragraphs(item.text, roles, own, inner)
    for member in item.members:
        lines += directive(member, roles, inner)
    return lines


ROLES = {"function": "func", "struct": "struct", "enum": "enum", "enumerator": "enumerator", "macro": "macro", "type": "type"}


def page(name, code):
    """The page of a header of that name."""
    reader = Reader(code)
    roles = {}
    for _, items in reader.sections:
        for item in items:
            nameless = item.kind == "enum" and not item.signatures[0]
            for one in [item, *item.members]:
                if nameless and one is not item:
                    one.kind = "macro"
                if one.kind in ROLES and one.signatures[0]:
                    roles.update({name_of(s): ROLES[one.kind] for s in one.signatures})
    lines = [name, "=" * len(name), ""]
    lines += paragraphs(re.sub(rf"^{re.escape(name)}: ", "", reader.head), roles, set(), "")
    for title, items in reader.sections:
        if title:
            lines += [title[0].upper() + title[1:], "-" * len(title), ""]
        for item in items:
            lines += directive(item, roles)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    import sys

    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            print(page(path.rsplit("/", 1)[-1], file.read()))
