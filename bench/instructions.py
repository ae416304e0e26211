#!/usr/bin/env python3
"""Counts the instructions of the hottest loop of functions of an aarch64 library: what NEON code is made of, on a machine that has no NEON.

    instructions.py LIBRARY [--function REGEXP] [--all] [--show] [--objdump aarch64-linux-gnu-objdump]

LIBRARY is disassembled by objdump, or read where it is objdump's own text (*.s, *.txt, - for the standard input). Of each function whose name
matches, the innermost loop with the most multiply-adds of vectors is shown; with --all every innermost loop that has eight or more of them.
A loop is what lies between the target of a backward branch and the branch. Columns, in instructions of one pass:

    fma       fused multiply-adds of vectors (fmla, fmls), of which `lane` take a factor from a lane
    other     other arithmetic of vectors: fadd, fsub, fmul, fmax, ...
    loads     vectors read from memory that is not the stack: a pair (ldp) counts as two; of which `dup` fill all lanes with one number (ld1r)
    stores    vectors written to memory that is not the stack
    spills    vectors read from or written to the stack: a compiler had no register for them
    moves     vectors copied, or lanes of them (mov, dup, zip, ...)
    integer   all else: addresses, counters, prefetches (`prfm`, in brackets), branches
    per fma   loads, and all that is no multiply-add, for each multiply-add

This counts. It does not time: nothing here says what a core does in a cycle."""
import argparse
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:[0-9a-f]{8} \t|[0-9a-f]{8}\s+)?\s*(\S+)\s*(.*)$")
HEAD = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
BRANCH = re.compile(r"^(b\.\w+|b|cbn?z|tbn?z)$")
VECTOR = re.compile(r"\b(?:v\d+\.|q\d+\b)")
MOVES = {"mov", "dup", "ins", "umov", "zip1", "zip2", "uzp1", "uzp2", "trn1", "trn2", "ext", "rev64", "movi", "orr", "fmov", "tbl"}


def functions(text):
    """(name, [(address, mnemonic, operands)]) of objdump's text."""
    name, body = None, []
    for line in text:
        head = HEAD.match(line)
        if head:
            if body:
                yield name, body
            name, body = head.group(2), []
            continue
        found = LINE.match(line)
        if found and name:
            body.append((int(found.group(1), 16), found.group(2), found.group(3).split("//")[0].strip()))
    if body:
        yield name, body


def loops(body):
    """Innermost loops: lists of instructions between a backward branch and where it leads."""
    place = {address: i for i, (address, _, _) in enumerate(body)}
    ranges = []
    for i, (address, name, operands) in enumerate(body):
        if not BRANCH.match(name):
            continue
        to = re.search(r"\b([0-9a-f]+) <", operands)
        begin = place.get(int(to.group(1), 16)) if to else None
        if begin is not None and begin <= i:
            ranges.append((begin, i + 1))
    ranges = sorted(set(ranges))
    for begin, end in ranges:
        if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in ranges):
            yield body[begin:end]


def memory(name, operands):
    """How many vectors the instruction moves between memory and registers, and whether that is the stack."""
    registers, _, place = operands.partition("[")
    if name in ("ldp", "stp", "ldnp", "stnp"):
        count = len(re.findall(r"\bq\d+", registers))
    elif re.match(r"(ld|st)[1-4]r?$", name):
        count = len(re.findall(r"\bv\d+\.", registers))
        ranged = re.search(r"v(\d+)\.\S+-v(\d+)\.", registers)
        if ranged:
            count = int(ranged.group(2)) - int(ranged.group(1)) + 1
    else:
        count = 1
    return count, place.startswith("sp")


def count(loop):
    n = dict.fromkeys("fma lane other loads dup stores spills moves prfm integer".split(), 0)
    for _, name, operands in loop:
        floats = bool(VECTOR.search(operands)) or bool(re.match(r"[sd]\d+\b", operands))
        if name in ("fmla", "fmls") and floats:
            n["fma"] += 1
            n["lane"] += bool(re.search(r"\.s\[\d\]$", operands))
        elif re.match(r"(ld|st)", name) and (floats or re.match(r"[qsd]\d", operands)):
            vectors, stack = memory(name, operands)
            if stack:
                n["spills"] += vectors
            else:
                n["loads" if name.startswith("ld") else "stores"] += vectors
                n["dup"] += vectors if re.match(r"ld1r$", name) else 0
        elif name in MOVES and floats:
            n["moves"] += 1
        elif name.startswith("prf"):
            n["prfm"] += 1
            n["integer"] += 1
        elif floats and VECTOR.search(operands):
            n["other"] += 1
        else:
            n["integer"] += 1
    return n


def row(name, n):
    rest = n["other"] + n["loads"] + n["stores"] + n["spills"] + n["moves"] + n["integer"]
    fma = n["fma"] or 1
    return (f"{name[:52]:52} {n['fma']:5} {n['lane']:5} {n['other']:5} {n['loads']:5} {n['dup']:4} {n['stores']:6} {n['spills']:6} "
            f"{n['moves']:5} {n['integer']:4} ({n['prfm']:2}) {n['loads'] / fma:6.3f} {rest / fma:6.3f}")


def disassembled(args):
    if args.file == "-":
        return sys.stdin
    if args.file.endswith((".s", ".txt")):
        return open(args.file, encoding="utf-8", errors="replace")
    command = [args.objdump, "-d", "--no-show-raw-insn", args.file]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace").stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="LIBRARY")
    parser.add_argument("--function", default=".", metavar="REGEXP")
    parser.add_argument("--all", action="store_true", help="every innermost loop of eight multiply-adds and more")
    parser.add_argument("--show", action="store_true", help="the loops' instructions too")
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    args = parser.parse_args()
    wanted, found = re.compile(args.function), False
    print(f"{'function':52} {'fma':>5} {'lane':>5} {'other':>5} {'loads':>5} {'dup':>4} {'stores':>6} {'spills':>6} "
          f"{'moves':>5} integer   {'per':>5} {'fma':>6}")
    for name, body in functions(disassembled(args)):
        if not wanted.search(name):
            continue
        counted = sorted(((count(loop), loop) for loop in loops(body)), key=lambda c: -c[0]["fma"])
        for n, loop in counted if args.all else counted[:1]:
            if n["fma"] < (8 if args.all else 1):
                continue
            found = True
            print(row(name, n))
            if args.show:
                print("\n".join(f"    {address:x}: {word} {operands}" for address, word, operands in loop))
    if not found:
        sys.exit(f"instructions.py: {args.file}: no function that matches '{args.function}' has a loop with multiply-adds of vectors")


if __name__ == "__main__":
    main()
