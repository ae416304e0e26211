"""pznet inspect --html. usage: test_page.py PZNET NETWORKS [unittest's arguments]

NETWORKS holds tiny.so, compiled from tests/networks/tiny.prototxt with init:1. Standard library only; Chromium, where there
is one, draws a page.
"""

import html.parser
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PZNET, NETWORKS = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
ROOT = pathlib.Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ["google-chrome", "chromium", "chromium-browser"])), None)

# Names that want to be more than text.
HOSTILE = ["</title><script>alert(1)</script>", "a\"b' onload=alert(1) x='", "&lt;&amp; <b>", "left \u202e right", "層" * 60, "]]> -->"]
INPUT = 'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {} }} }} }}\n'


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shape(*dims):
    return " ".join(f"dim: {d}" for d in dims)


def relu(name, bottom):
    return f"layer {{ name: {quoted(name)} type: \"ReLU\" bottom: {quoted(bottom)} top: {quoted(name)} }}\n"


def total(name, *bottoms):
    return f"layer {{ name: {quoted(name)} type: \"Eltwise\" {' '.join('bottom: ' + quoted(b) for b in bottoms)} top: {quoted(name)} }}\n"


def conv(name, bottom, maps=8, extra=""):
    return (
        f"layer {{ name: {quoted(name)} type: \"Convolution\" bottom: {quoted(bottom)} top: {quoted(name)} convolution_param {{ "
        f'num_output: {maps} kernel_size: 3 pad: 1 weight_filler {{ type: "xavier" }} {extra} }} }}\n'
    )


class Reader(html.parser.HTMLParser):
    """What a page is made of; fails where tags do not nest."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.rows, self.titles = [], [], "", [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "title":
            self.titles.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "title":
            self.titles[-1] += data

    def of_class(self, tag, name):
        return [a for t, a in self.tags if t == tag and name in a.get("class", "").split()]


def pixels(file):
    """Width, height and rows of a PNG of 8 bits a sample, not interlaced; a row is its bytes. (PNG, 9.2: filters)"""
    data, at, packed = pathlib.Path(file).read_bytes(), 8, b""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    step, raw, rows = 3 if kind == 2 else 4, zlib.decompress(packed), []
    above = bytes(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        row, how = bytearray(raw[begin + 1 : begin + 1 + width * step]), raw[begin]
        for x in range(len(row)) if how else ():
            a, b, c = row[x - step] if x >= step else 0, above[x], above[x - step] if x >= step else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[x] = (row[x] + (0, a, b, (a + b) // 2, nearest)[how]) & 255
        rows.append(bytes(row))
        above = rows[-1]
    return width, height, step, rows


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def pznet(self, *words):
        return subprocess.run([PZNET, "inspect", "--effort", "estimate", *map(str, words)], capture_output=True, text=True, timeout=120)

    def page(self, source, *words):
        """A model's text, or a file; the page as text and as it was read."""
        file = self.folder / f"{self.id()}.html"
        if isinstance(source, str):
            (self.folder / "model.prototxt").write_text(source)
            source, words = self.folder / "model.prototxt", ["-w", "init:1", *words]
        result = self.pznet(source, "--html", file, *words)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        text = file.read_text(encoding="utf-8")
        self.assert_alone(text)
        return text, Reader(text)

    def assert_alone(self, text):
        """Nothing is fetched, and no text became markup."""
        reader = Reader(text)
        self.assertEqual([t for t, _ in reader.tags if t in ("link", "img", "iframe", "object", "embed", "base", "form")], [])
        self.assertEqual(len([t for t, _ in reader.tags if t == "script"]), 1)
        for tag, attributes in reader.tags:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on") or name in ("src", "href", "xlink:href"), (tag, name))
        for word in ("http:", "https:", "@import", "url("):
            self.assertNotIn(word, text)
        self.assertTrue(text.startswith("<!doctype html>"))

    def unet(self):
        return (
            INPUT.format(shape(1, 1, 1, 16, 16))
            + conv("down", "data")
            + relu("down_relu", "down")
            + 'layer { name: "pool" type: "Pooling" bottom: "down_relu" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }\n'
            + conv("deep", "pool", 16)
            + 'layer { name: "up" type: "Deconvolution" bottom: "deep" top: "up" convolution_param { num_output: 8 '
            + 'kernel_size: 2 stride: 2 weight_filler { type: "xavier" } } }\n'
            + 'layer { name: "merge" type: "Concat" bottom: "down_relu" bottom: "up" top: "merge" }\n'
            + conv("last", "merge", 2)
        ).replace("kernel_size: 2 stride: 2", "kernel_size: 1 kernel_size: 2 kernel_size: 2 stride: 1 stride: 2 stride: 2")

    def test_model(self):
        text, page = self.page(self.unet())
        names = [row[1] for row in page.rows[1:]]
        for layer in ("down", "pool", "deep", "up", "last"):
            self.assertIn(layer, names)
            self.assertTrue(any(t.startswith(layer + "\n") for t in page.titles), layer)
        self.assertEqual(len(page.of_class("svg", "graph")), 2)
        self.assertEqual(len(page.of_class("svg", "memory")), 1)
        self.assertTrue(page.of_class("g", "gone"))  # the activation is fused
        self.assertTrue(page.of_class("path", "skip"))  # the skip connection
        self.assertIn("not measured", page.text)
        self.assertNotIn("ms", page.rows[0])
        column = page.rows[0].index("share of cost")
        self.assertAlmostEqual(sum(float(row[column].split()[0]) for row in page.rows[1:]), 100, delta=0.05 * len(page.rows))
        self.assertTrue(page.of_class("rect", "buffer"))

    def test_layers_are_linked(self):
        _, page = self.page(self.unet())
        nodes = [a["data-l"] for a in page.of_class("g", "n") if "data-l" in a]
        rows = [a["data-l"] for t, a in page.tags if t == "tr" and "data-l" in a]
        number = rows[[row[1] for row in page.rows[1:]].index("down")]
        self.assertEqual(nodes.count(number), 3)  # imported, its activation that is fused, and after the passes
        self.assertEqual(rows.count(number), 1)

    def test_names_are_text(self):
        model, before = INPUT.format(shape(1, 8, 4, 4)), "data"
        for name in HOSTILE:
            model += conv(name, before)
            before = name
        text, page = self.page(model)
        names = [row[1] for row in page.rows[1:]]
        for name in HOSTILE:
            self.assertIn(name.replace("\u202e", "?"), names)
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("\u202e", text)

    def test_bytes_that_are_no_text(self):
        model = (INPUT.format(shape(1, 8, 4, 4)) + conv("XXXX", "data")).encode().replace(b"XXXX", b"\xff\xc0\xaf\xed\xa0\x80")
        (self.folder / "bytes.prototxt").write_bytes(model)
        result = self.pznet(self.folder / "bytes.prototxt", "-w", "init:1", "--html", self.folder / "bytes.html")
        if result.returncode == 0:
            self.assert_alone((self.folder / "bytes.html").read_text(encoding="utf-8"))
        else:
            self.assertEqual(result.returncode, 3, result.stderr)

    def test_network_file(self):
        _, page = self.page(NETWORKS / "tiny.so")
        self.assertEqual([row[1] for row in page.rows[1:]], ["data", "conv", "score"])
        self.assertEqual(len(page.of_class("svg", "graph")), 1)
        self.assertEqual(len(page.of_class("g", "n")), 5)
        self.assertEqual(len(page.of_class("path", "tip")), 4)
        self.assertTrue(page.of_class("rect", "buffer"))

    def test_measured(self):
        _, page = self.page(NETWORKS / "tiny.so", "--runs", 2, "--threads", 1)
        self.assertIn("median of 2 runs on 1 thread", page.text)
        self.assertNotIn("not measured", page.text)
        column = page.rows[0].index("ms")
        for row in page.rows[1:]:
            self.assertGreater(float(row[column]), 0)

    def test_measured_model(self):
        _, page = self.page(INPUT.format(shape(1, 2, 3, 4)) + relu("act", "data"), "--runs", 2, "--threads", 1)
        self.assertIn("median of 2 runs", page.text)
        self.assertEqual(len(page.of_class("svg", "graph")), 2)

    def assert_apart(self, text):
        """No box meets another one, texts lie in their boxes, and no line crosses a box."""
        for svg in re.findall(r'<svg class="graph".*?</svg>', text, re.S):
            boxes = []
            for group in re.findall(r'<g class="n .*?</g>', svg, re.S):
                x, y, w, h = (float(re.search(rf'class="box"[^>]* {k}="([-\d.]+)"', group)[1]) for k in ("x", "y", "width", "height"))
                boxes.append((x, y, x + w, y + h))
                for content in re.findall(r"<text[^>]*>(.*?)</text>", group):
                    self.assertLess(6 * len(re.sub("&[^;]*;", "x", content)), w - 8)
            boxes.sort(key=lambda b: b[1])
            for i, a in enumerate(boxes):
                for b in boxes[i + 1 :]:
                    if b[1] >= a[3]:
                        break
                    self.assertTrue(a[2] + 10 <= b[0] or b[2] + 10 <= a[0], (a, b))
            for x, y0, y1 in self.verticals(svg):
                for b in boxes:
                    if y0 < b[3] - 0.2 and y1 > b[1] + 0.2:
                        self.assertFalse(b[0] < x < b[2], (x, y0, y1, b))

    def verticals(self, svg):
        for d in re.findall(r'<path class="edge[^"]*" d="([^"]*)"', svg):
            at = None
            for command, numbers in re.findall(r"([MCV])([-\d. ]+)", d):
                v = [float(n) for n in numbers.split()]
                if command == "V":
                    yield at[0], at[1], v[0]
                    at = (at[0], v[0])
                else:
                    at = (v[-2], v[-1])

    def test_many_layers(self):
        """500 layers at random: chains, sums of what is near, skips over everything."""
        chance = random.Random(20181)
        model, names = INPUT.format(shape(1, 4, 8, 8)), ["data"]
        for i in range(500):
            name = f"layer_{i}" + "_with_a_long_name" * chance.choice([0, 0, 1, 3])
            others = {chance.choice(names[-12:]) for _ in range(2)} | ({chance.choice(names)} if chance.random() < 0.05 else set())
            if chance.random() < 0.6 or len(others) < 2:
                model += relu(name, names[-1] if chance.random() < 0.8 else chance.choice(names[-6:]))
            else:
                model += total(name, *sorted(others))
            names.append(name)
        text, page = self.page(model)
        self.assertGreaterEqual(len(page.of_class("g", "n")), 500)
        self.assert_apart(text)

    def test_networks_are_drawn(self):
        for model, size in ("residual", "1x1x4x32x32"), ("symmetric", "1x1x16x32x32"):
            with self.subTest(model):
                text, _ = self.page(ROOT / f"models/{model}.prototxt", "-w", "init:1", "--input", f"input={size}")
                self.assert_apart(text)

    def test_bands_are_one_row(self):
        words = ["-w", "init:1", "--input", "input=1x1x92x92x92", "--fuse-rows", "always"]
        _, page = self.page(ROOT / "models/original.prototxt", *words)
        rows = [(row[1], row[2]) for row in page.rows[1:]]
        self.assertTrue(any("bands" in row[4] for row in page.rows))
        self.assertEqual(len(rows), len(set(rows)))

    def test_levels_of_a_unet(self):
        """Halved sizes are indented, what is merged stands under its skip connection's end, crops are of the level they cut."""
        text, _ = self.page(ROOT / "models/original.prototxt", "-w", "init:1", "--input", "input=1x1x92x92x92")
        after = re.findall(r'<svg class="graph".*?</svg>', text, re.S)[1]
        left = {}
        for group in re.findall(r'<g class="n .*?</g>', after, re.S):
            x, w = (float(re.search(rf'class="box"[^>]* {k}="([-\d.]+)"', group)[1]) for k in ("x", "width"))
            left[re.search(r"<title>(\S+)", group)[1]] = x + w / 2
        for a, b in ("down0_conv2", "down1_conv2"), ("down1_conv2", "down2_conv2"), ("down2_conv2", "down3_conv2"):
            self.assertLess(left[a] + 50, left[b])
        self.assertAlmostEqual(left["down3_conv1"], left["down3_conv2"])
        self.assertLess(left["up0_conv2"] + 50, left["up1_conv2"])
        self.assertLess(left["up0_merge.crop"], left["pool0"])

    def test_deterministic(self):
        self.assertEqual(self.page(self.unet())[0], self.page(self.unet())[0])

    def test_wrong_words(self):
        tiny = NETWORKS / "tiny.so"
        for words, status in [
            ([tiny, "--runs", 3], 2),
            ([tiny, "--html", self.folder / "x.html", "--json"], 2),
            ([tiny, "--html", self.folder / "x.html", "--runs", 0], 2),
            ([tiny, "--html", self.folder / "nowhere/x.html"], 3),
            ([self.folder / "nothing.prototxt", "--html", self.folder / "x.html"], 3),
        ]:
            result = self.pznet(*words)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (status, 1), (words, result.stderr))
        self.assertFalse((self.folder / "x.html").exists())

    # ---- in a browser ----

    def browse(self, file, *words):
        words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={self.folder / 'browser'}", *words]
        return subprocess.run([*words, f"file://{file}"], capture_output=True, text=True, timeout=120)

    @unittest.skipUnless(CHROMIUM, "no Chromium")
    def test_screenshot(self):
        self.page(self.unet())
        picture = self.folder / "page.png"
        result = self.browse(self.folder / f"{self.id()}.html", "--window-size=1000,900", f"--screenshot={picture}")
        if not picture.exists():
            self.skipTest(f"Chromium does not run here: {result.stderr[-200:]}")
        width, height, step, rows = pixels(picture)
        self.assertGreaterEqual((width, height), (1000, 700))
        found = [row[x : x + 3].hex() for row in rows[::2] for x in range(0, len(row), step)]
        for colour, least in ("f6f8fa", 5000), ("4c8ed9", 200), ("d9a441", 50), ("bf3989", 50):  # page, conv, pool, skip
            self.assertGreater(found.count(colour), least, colour)

    @unittest.skipUnless(CHROMIUM, "no Chromium")
    def test_script(self):
        text, page = self.page(self.unet())
        file = self.folder / "clicked.html"
        clicks = "for (const head of document.querySelectorAll('th')) if (head.textContent == 'layer') head.firstChild.click();"
        clicks += "document.querySelector('tbody tr').click();"
        file.write_text(text.replace("</body>", f"<script>{clicks}</script></body>"), encoding="utf-8")
        result = self.browse(file, "--dump-dom")
        if "<html" not in result.stdout:
            self.skipTest(f"Chromium does not run here: {result.stderr[-200:]}")
        after = Reader(result.stdout)
        names = [row[1] for row in after.rows[1:]]
        self.assertEqual(names, sorted(row[1] for row in page.rows[1:]))
        marked = [a["data-l"] for _, a in after.tags if "on" in a.get("class", "").split()]
        self.assertGreater(len(marked), 1)
        self.assertEqual(len(set(marked)), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
