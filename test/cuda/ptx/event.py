"""A whole event on paper: python3 test/cuda/ptx/event.py prints the table of
docs/tables/cuda-instructions.md, "A whole event", from the instructions of its table
"Instructions".

A kernel takes the longest of its instructions, its bytes (each array once) and
its floating-point operations, at 60 % of what an H100 or H200 can.
"""

import re

HITS = 1e5
ISSUE = 0.6 * 132 * 4 * 1.755e9  # instructions a second
DEVICES = (3.35e12, 4.8e12)  # bytes a second
FLOAT32, TF32, HALF = 0.6 * 67e12, 0.6 * 495e12, 0.6 * 990e12  # operations a second


def instructions():
    """Kernel and work -> instructions of PTX of a warp."""
    with open("docs/tables/cuda-instructions.md", encoding="utf-8") as page:
        rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| (\d+) \|", page.read(), re.M)
    return {(name, work.strip()): float(n) for name, work, n in rows}


def products(widths):
    return sum(2 * a * b for a, b in zip(widths, widths[1:]))


class Event:
    def __init__(self, bandwidth):
        self.hits, self.bandwidth, self.counted = HITS, bandwidth, instructions()

    def count(self, name, work):
        return next(n for (k, w), n in self.counted.items() if k == name and w.startswith(work))

    def time(self, issued=0.0, moved=0.0, done=0.0, rate=HALF):
        """ms"""
        return 1e3 * max(issued / ISSUE, moved / (0.6 * self.bandwidth), done / rate)

    def sort(self, n, bits, moved=12):
        """Radix sort: a pass of 8 bits reads and writes."""
        return self.time(moved=n * 2 * moved * bits / 8)

    def wide(self, n, widths, rate):
        """Products of blocks in the level 2 cache, and a kernel after each layer."""
        row = self.count("wide_row_kernel", "row of 512") * sum(widths[1:-1]) / 512
        return self.time(done=n * products(widths), rate=rate) + self.time(issued=n * row)

    def embedding(self, widths, rate):
        return self.wide(self.hits, widths, rate)

    def graph(self, edges, visits):
        """visits: leaves that a leaf walks; in the row of append_kernel 8.56."""
        walk = self.count("append_kernel", "leaf") / 8.56 * visits * self.hits / 32
        degree = edges / self.hits
        order = self.count("order_kernel", "point") * -(-degree // 32) * degree / 17 * self.hits
        return (self.time(issued=walk) + self.time(issued=order, moved=12 * edges)
                + 2 * self.sort(self.hits, 64))

    def features(self, edges):
        each = self.count("edge_features_kernel", "32 edges") / 32
        return self.time(issued=edges * each, moved=edges * 44)

    def fused(self, rows, work, moved):
        return self.time(issued=rows / 16 * self.count("mlp_fused_kernel", work),
                         moved=rows * moved)

    def filter(self, edges, kept):
        """After the scores: checks, the cut, the best of them in order, their graph."""
        return (self.features(edges) + self.fused(edges, "tile of 16 rows, 21-64", 48)
                + self.select(edges, kept))

    def select(self, edges, kept):
        return self.time(moved=edges * 17) + self.sort(3 * kept, 32) + 2 * self.sort(kept, 32)

    def network(self, edges, width, n):
        """n iterations: edges, sums at both ends, nodes and their products."""
        work = {32: "tile of 16 rows, 96-32", 64: "tile of 16 rows, 192-64"}
        if width in work:
            update = self.fused(edges, work[width], 4 * width + 8)
            nodes = 2 * self.fused(self.hits, work[width], 12 * width)
        else:  # of four times as many products a row and twice as many values
            issued = 3 * self.count("mlp_fused_kernel", work[64])
            done = products((3 * width, width, width))
            update, nodes = (
                self.time(rows / 16 * issued, rows * 4 * width, rows * done)
                for rows in (edges, 2 * self.hits))
        reduce = self.count("sum_vectors_kernel", "warp") * width / 32
        sums = 2 * self.time(edges / 32 * reduce, 2 * edges * width + 4 * self.hits * width)
        return self.features(edges) + update + n * (update + nodes + sums)

    def labels(self, edges):
        return 2 * self.sort(edges, 64) + self.time(moved=edges * 60)

    def stages(self, name):
        if name == "default, first pass before":
            self.hits = 40300
            return [self.embedding((5, 128, 128, 128, 8), FLOAT32), self.graph(1.98e6, 188),
                    self.filter(1.98e6, 0.323e6), self.network(0.323e6, 32, 6),
                    self.labels(0.323e6)]
        if name == "default":
            return [self.embedding((5, 128, 128, 128, 8), FLOAT32), self.graph(8.15e6, 188),
                    self.filter(8.15e6, 0.8e6), self.network(0.8e6, 32, 6),
                    self.labels(0.8e6)]
        if name == "accurate":
            return [self.embedding((5, 128, 128, 128, 8), FLOAT32), self.graph(15.2e6, 278),
                    self.filter(15.2e6, 1.4e6), self.network(1.4e6, 64, 6),
                    self.labels(1.4e6)]
        rate, embed = (HALF, FLOAT32) if name == "reference, float16" else (TF32, TF32)
        network = self.network(1e6, 128, 8)
        if rate == TF32:  # no fused perceptrons
            network = 8 * (self.wide(1.2e6, (384, 128, 128), rate)
                           + 2 * self.time(moved=4e6 * 128 + 4 * self.hits * 128))
        return [self.embedding((12, 512, 512, 512, 512, 8), embed), self.graph(5.4e6, 188),
                self.wide(5.4e6, (24, 512, 512, 512, 1), rate)
                + self.select(5.4e6, 1e6), network, self.labels(1e6)]


MODELS = ("default", "default, first pass before", "accurate", "reference, float16",
          "reference, TF32")


def table():
    lines = ["| model | embedding | candidate graph | filter | graph network | labels "
             "| H100 | H200 |", "|---|---|---|---|---|---|---|---|"]
    for name in MODELS:
        first, second = (Event(b).stages(name) for b in DEVICES)
        lines.append("| %s | %s | %.1f | %.1f |" % (
            name, " | ".join("%.2f" % t for t in first), sum(first), sum(second)))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
