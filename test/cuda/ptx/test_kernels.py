"""Kernels as nvcc compiles them, compared with float64 at random sizes.

    ETX_PTX=FOLDER python3 -m unittest discover -s test/cuda/ptx

FOLDER has NAME.ptx of cuda/op/NAME.cu and, where there is nvdisasm, its SASS in
NAME.sm_90 and NAME.sm_80 (test/cuda/ptx/ptx.sh makes them). Each number of the
table in docs/tables/cuda-instructions.md is checked within 5 %.
"""

import os
import re
import struct
import unittest

import numpy as np

import event
import interpreter
import sass
from interpreter import Fault, Kernel, Memory

FOLDER = os.environ.get("ETX_PTX", "")
TILE = 16
POINTS, LEAVES = 32, 32  # of a leaf, of a branch
NONE, RELU, SILU, TANH = range(4)


def kernel(file, name):
    with open(os.path.join(FOLDER, file + ".ptx"), encoding="utf-8") as source:
        out = Kernel(source.read(), name)
    out.file = file
    return out


class Launch(interpreter.Launch):
    def run(self):
        """Instructions of PTX, SASS for sm_90 and sm_80 (NaN without), bytes and
        operations."""
        count = super().run()
        paths = [os.path.join(FOLDER, "%s.sm_%d" % (self.kernel.file, n)) for n in (90, 80)]
        executed = [
            sass.executed(path, self) if os.path.exists(path) else float("nan")
            for path in paths
        ]
        return np.array([count[0], *executed, *count[1:]])


def documented():
    """Kernel and work -> the numbers of its row in the table of
    docs/tables/cuda-instructions.md."""
    with open("docs/tables/cuda-instructions.md", encoding="utf-8") as page:
        rows = re.findall(
            r"^\| `([^`]+)` \| ([^|]+) \| ((?:\d+ \| ){5}[\d.]+ \| [\d.]+) \|$",
            page.read(), re.M)
    return {
        (name, work.strip()): [float(x) for x in numbers.split("|")]
        for name, work, numbers in rows
    }


# Of an H100 and an H200, at 60 %: instructions a second of 132 multiprocessors
# with 4 schedulers at 1.755 GHz, bytes a second of memory.
ISSUE = 0.6 * 132 * 4 * 1.755e9
MEMORY = (0.6 * 3.35e12, 0.6 * 4.8e12)


def with_times(count):
    """Of PTX, SASS, bytes and operations, and ms a million by the roofline: of
    PTX, which is known exactly."""
    times = [1e9 * max(count[0] / ISSUE, count[3] / memory) for memory in MEMORY]
    return list(count) + times


def tiles(n, size):
    return -(-n // size)


# ------------------------------------------------------------- perceptrons --


def pack_rows(data=0, index=0, width=0, half=0):
    return struct.pack("<QQi4xQ", data, index, width, half)


class Perceptron:
    """Random layers (width, norm 0 or 1, norm_last, activation) on random parts
    (width, is_half, is_gathered), as describe() of mlp_fused.cu lays them."""

    def __init__(self, random, n_rows, parts, layers, is_half=True, added=(),
                 has_residual=False):
        self.random, self.n_rows, self.is_half = random, n_rows, is_half
        self.blocks = 2
        self.memory = Memory()
        self.parts = [self.make_rows(*p) for p in parts]
        self.added = [self.make_rows(layers[0][0], h, True) for h in added]
        self.n_in = sum(p[0] for p in parts)
        self.width = layers[-1][0]
        self.make_layers(layers)
        self.residual = None
        if has_residual:
            self.residual = random.standard_normal((n_rows, self.width)).astype("f2")

    def make_rows(self, width, is_half, is_gathered):
        n = self.n_rows // 3 + 1 if is_gathered else self.n_rows
        values = self.random.standard_normal((n, width)).astype("f2")
        at = self.memory.put(values if is_half else values.astype("f4"))
        index = np.arange(n)
        index_at = 0
        if is_gathered:
            index = self.random.integers(0, n, self.n_rows).astype("i4")
            index_at = self.memory.put(index)
        packed = pack_rows(0 if is_half else at, index_at, width, at if is_half else 0)
        return packed, values[index].astype(float)

    def make_layers(self, layers):
        self.layers, self.n_words, k = [], 0, self.n_in
        for l, (n_out, norm, norm_last, activation) in enumerate(layers):
            columns = tiles(n_out, 8)
            columns += columns % 2 if l + 1 < len(layers) else 0
            self.layers.append({
                "n_out": n_out, "depth": tiles(k, 16), "columns": columns,
                "first": self.n_words, "norm": norm, "norm_last": norm_last,
                "activation": activation,
                "weight": (self.random.standard_normal((n_out, k)) / k**0.5).astype("f4"),
                "bias": (0.1 * self.random.standard_normal(n_out)).astype("f4"),
                "gain": (1 + 0.1 * self.random.standard_normal(n_out)).astype("f4"),
                "shift": (0.1 * self.random.standard_normal(n_out)).astype("f4"),
            })
            self.n_words += tiles(k, 16) * columns * 64
            k = n_out

    def pack_weights(self, layer):
        words = layer["depth"] * layer["columns"] * 64
        packed = self.memory.empty(words, "u4")
        parameters = struct.pack(
            "<QQiiii", packed, self.memory.put(layer["weight"]),
            layer["weight"].shape[1], layer["n_out"], layer["columns"], words)
        Launch(kernel("mlp_fused", "pack_kernel"), parameters, self.memory, 2).run()
        return packed

    def parameters(self, out):
        put = self.memory.put
        pitch = tiles(self.n_in, TILE) * TILE + 8
        text = struct.pack("<qiiii", self.n_rows, len(self.layers), self.n_in, pitch,
                           self.n_words)
        text += struct.pack("<i4x", len(self.parts))
        text += b"".join(p for p, _ in self.parts).ljust(12 * 32, b"\0")
        text += struct.pack("<i4x", len(self.added))
        text += b"".join(
            p + struct.pack("<i4x", self.layers[0]["n_out"] % 2 == 0)
            for p, _ in self.added).ljust(4 * 40, b"\0")
        residual = 0 if self.residual is None else put(self.residual)
        text += struct.pack("<QQQQi4x", 0, residual, 0 if self.is_half else out,
                            out if self.is_half else 0,
                            self.is_half and self.width % 2 == 0)
        for layer in self.layers:
            text += struct.pack(
                "<QQQiiiiQfiii", put(layer["bias"]), put(layer["gain"]),
                put(layer["shift"]), layer["n_out"], layer["depth"], layer["columns"],
                layer["first"], self.pack_weights(layer), 1e-5, layer["norm"],
                layer["norm_last"], layer["activation"])
        return text.ljust(kernel("mlp_fused", "mlp_fused_kernelILi4E").parameter_bytes,
                          b"\0"), (self.n_words + len(self.layers) * 3 * 128) * 4 + 8 * TILE * pitch * 2

    def run(self):
        """The result [n_rows, width], and instructions of a warp a tile."""
        n = (self.n_rows + 8) * self.width
        dtype = "f2" if self.is_half else "f4"
        out = self.memory.empty(n, dtype)
        columns = tiles(max(l["n_out"] for l in self.layers), 8)
        size = 4 if columns <= 4 else 8 if columns <= 8 else 16
        parameters, shared = self.parameters(out)
        count = Launch(kernel("mlp_fused", "mlp_fused_kernelILi%dE" % size), parameters,
                       self.memory, self.blocks, 256, shared).run()
        values = self.memory.get(out, n, dtype).reshape(-1, self.width).astype(float)
        if not np.isnan(values[self.n_rows:]).all():
            raise Fault("written after the last row")
        return values[: self.n_rows], count / tiles(self.n_rows, TILE)

    def expected(self):
        x = np.concatenate([rows for _, rows in self.parts], 1)
        for l, layer in enumerate(self.layers):
            x = x.astype("f2").astype(float) @ layer["weight"].astype("f2").astype(float).T
            x = x + layer["bias"] + (sum(r for _, r in self.added) if l == 0 else 0)
            functions = [self._norm, self._activation]
            for function in functions[::-1] if layer["norm_last"] else functions:
                x = function(x, layer)
        return x if self.residual is None else x + self.residual.astype(float)

    @staticmethod
    def _norm(x, layer):
        if not layer["norm"]:
            return x
        d = x - x.mean(1, keepdims=True)
        d /= np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)
        return d * layer["gain"] + layer["shift"]

    @staticmethod
    def _activation(x, layer):
        return {
            NONE: lambda: x, RELU: lambda: np.maximum(x, 0),
            SILU: lambda: x / (1 + np.exp(-x)), TANH: lambda: np.tanh(x),
        }[layer["activation"]]()


class Perceptrons(unittest.TestCase):
    def check(self, network):
        values, count = network.run()
        expected = network.expected()
        self.assertTrue(np.isfinite(values).all())
        self.assertLess(np.abs(values - expected).max(), 6e-3 * max(1, np.abs(expected).max()))
        return count

    def count(self, *network):
        network = Perceptron(*network)
        network.blocks = 1
        return self.check(network)

    def test_random_shapes(self):
        random = np.random.default_rng(1)
        for _ in range(4):
            widest = int(random.choice([32, 64, 128]))
            layers = [
                (int(random.integers(1, widest + 1)), int(random.integers(2)),
                 int(random.integers(2)), int(random.integers(4)))
                for _ in range(random.integers(1, 4))
            ]
            parts = [(int(random.integers(1, 40)), bool(random.integers(2)),
                      bool(random.integers(2))) for _ in range(random.integers(1, 4))]
            with self.subTest(layers=layers, parts=parts):
                self.check(Perceptron(
                    random, int(random.integers(1, 200)), parts, layers,
                    bool(random.integers(2)), [True] * int(random.integers(3)),
                    False))

    def test_nearly_constant_rows_of_odd_width(self):
        """Columns that pad a layer to whole tiles stay 0 after its norm."""
        random = np.random.default_rng(2)
        network = Perceptron(random, 40, [(8, False, False)],
                             [(57, 1, 0, SILU), (9, 0, 0, NONE)])
        network.layers[0]["weight"][:] = 0
        network.layers[0]["bias"][:] = -400
        network.layers[0]["bias"][3] -= 0.02
        self.check(network)

    def test_instructions_a_tile(self):
        random = np.random.default_rng(3)
        wanted = documented()
        for work, parts, layers in (
            ("tile of 16 rows, 21-64-64-1, layer norm, SiLU", [(21, False, False)],
             [(64, 1, 0, SILU), (64, 1, 0, SILU), (1, 0, 0, NONE)]),
            ("tile of 16 rows, 96-32-32, layer norm, SiLU",
             [(32, True, True), (32, True, True), (32, True, False)],
             [(32, 1, 0, SILU), (32, 1, 0, SILU)]),
            ("tile of 16 rows, 192-64-64, layer norm, SiLU",
             [(64, True, True), (64, True, True), (64, True, False)],
             [(64, 1, 0, SILU), (64, 1, 0, SILU)]),
        ):
            with self.subTest(work=work):
                few, many = (
                    self.count(random, n, parts, layers) * n / TILE
                    for n in (128, 256)
                )
                check_count(self, wanted, "mlp_fused_kernel", work, (many - few) / 8)


class WideLayers(unittest.TestCase):
    """What follows the product of a layer that is too wide for the fused kernel."""

    def finish(self, n, width, norm, norm_last, activation, is_half, n_added, seed,
               is_half_out=None):
        """Instructions of rows_kernel or, without norm, of elements_kernel."""
        memory = Memory()
        random = np.random.default_rng(seed)
        y = random.standard_normal((n, width)).astype("f2" if is_half else "f4")
        is_half = is_half if is_half_out is None else is_half_out
        bias, gain, shift = random.standard_normal((3, width)).astype("f4")
        added = random.standard_normal((n_added, n, width)).astype("f4")
        residual = random.standard_normal((n, width)).astype("f4")
        dtype = "f2" if is_half else "f4"
        out = memory.empty(n * width, dtype)
        end = struct.pack("<QQQQ", 0 if is_half else memory.put(residual), 0,
                          0 if is_half else out, out if is_half else 0)
        terms = struct.pack("<i4xQi4x", 1, memory.put(bias), n_added)
        terms += b"".join(pack_rows(memory.put(a), 0, width) for a in added).ljust(12 * 32, b"\0")
        layer = struct.pack("<iiQQQQfiii", 8, width, 0, 0, memory.put(gain), memory.put(shift),
                            1e-5, norm, norm_last, activation)
        of_type = "I%sE" % ("t" if y.dtype == "f2" else "f")
        parameters = end + struct.pack("<Q", memory.put(y)) + terms
        if norm:
            parameters += layer + struct.pack("<q", n)
            name = "rows_kernel" + of_type
            if width in (128, 256, 512):
                name = "wide_row_kernelI%sLi%dE" % (of_type[1], width // 32)
            count = Launch(kernel("mlp", name), parameters, memory, 2, 256,
                           8 * width * 4).run()
        else:
            parameters += struct.pack("<i4xqi", activation, n, width)
            count = Launch(kernel("mlp", "elements_kernel" + of_type), parameters, memory,
                           2).run()
        x = y.astype(float) + bias + added.sum(0)
        layer = {"norm": norm, "gain": gain, "shift": shift, "activation": activation}
        functions = [Perceptron._norm, Perceptron._activation]
        for function in functions[::-1] if norm_last else functions:
            x = function(x, layer)
        x = x if is_half else x + residual
        found = memory.get(out, n * width, dtype).reshape(n, width).astype(float)
        np.testing.assert_allclose(found, x, rtol=2e-3, atol=2e-3 if is_half else 1e-4)
        return count / n

    def test_random_shapes(self):
        random = np.random.default_rng(12)
        for seed in range(6):
            width = (int(random.integers(1, 600)), 128, 256, 512)[seed % 4]
            shape = (int(random.integers(1, 40)), width,
                     seed % 2, int(random.integers(2)), seed % 4, seed % 3 == 0, seed % 3)
            with self.subTest(shape=shape):
                self.finish(*shape, seed)

    def test_instructions(self):
        wanted = documented()
        few, many = (self.finish(n, 512, 1, 0, RELU, True, 0, 13) * n for n in (32, 64))
        check_count(self, wanted, "wide_row_kernel", "row of 512 float16, bias, layer norm, ReLU",
                    (many - few) / 32)
        check_count(self, wanted, "elements_kernel",
                    "32 rows of one float16, bias, to float32",
                    self.finish(512, 1, 0, 0, NONE, True, 0, 14, False) * 32)


def check_count(test, wanted, name, work, count):
    numbers = with_times(count)
    print("| `%s` | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f |"
          % (name, work, *numbers))
    test.assertIn((name, work), wanted)
    for number, expected in zip(numbers, wanted[name, work], strict=True):
        if not np.isnan(number):
            test.assertLessEqual(abs(number - expected), 0.05 * expected + 0.005)


# ------------------------------------------------------------------ graphs --


class Tree:
    """Points in the order of a tree, as etx_point_tree_build makes it."""

    def __init__(self, memory, point, radius):
        self.n, n_dim = point.shape
        self.n_quads = 2 if n_dim <= 8 else tiles(n_dim, 4)
        self.point = np.zeros((self.n, 4 * self.n_quads), "f4")
        self.point[:, :n_dim] = point
        self.order = np.random.default_rng(5).permutation(self.n).astype("i4")
        self.limit = np.float32(float(np.float32(radius)) ** 2)
        self.n_leaves = tiles(self.n, POINTS)
        n_branches = tiles(self.n_leaves, LEAVES)
        self.text = struct.pack(
            "<qqqi4xQQQQQifi4x", self.n, self.n_leaves, n_branches, self.n_quads,
            memory.put(self.order), memory.put(self.point), memory.put(self.boxes(POINTS)),
            memory.put(self.boxes(POINTS * LEAVES)), 0, 0, self.limit, 1)

    def boxes(self, n):
        ends = [self.point[f : f + n] for f in range(0, self.n, n)]
        return np.stack([np.stack([p.min(0), p.max(0)]) for p in ends]).astype("f4")

    def edges(self):
        """(dst, src) of float64, and of distances within 1e-5 of the radius."""
        d = self.point[:, None].astype(float) - self.point[None].astype(float)
        s = (d * d).sum(-1)
        i, j = np.broadcast_arrays(self.order[:, None], self.order[None])
        return [
            set(zip(j[kept].tolist(), i[kept].tolist()))
            for f in (1 - 1e-5, 1 + 1e-5)
            for kept in [(s <= float(self.limit) * f) & (i < j)]
        ]


class Graphs(unittest.TestCase):
    def append(self, memory, tree, rows):
        """Edges into each point, and instructions of the walk."""
        count = memory.put(np.zeros(tree.n + 1, "i8"))
        name = "append_kernelILi%dE" % (2 if tree.n_quads == 2 else 0)
        n_instructions = Launch(kernel("radius_graph", name),
                                struct.pack("<Q", count) + rows + tree.text, memory, 2).run()
        return count, memory.get(count, tree.n, "i8"), n_instructions

    def find_edges(self, n, n_dim, radius, seed, n_slots=128):
        memory = Memory()
        random = np.random.default_rng(seed)
        point = random.standard_normal((n, n_dim)).astype("f4")
        tree = Tree(memory, point[np.argsort(point[:, 0])], radius)
        is_short = memory.put(np.zeros(1, "i8"))
        slots = struct.pack("<Qi4xQQQ", memory.empty(n * n_slots, "i4"), n_slots, 0, 0, is_short)
        at, counts, n_instructions = self.append(memory, tree, slots)
        offset = np.concatenate([[0], np.cumsum(counts)])
        n_edges = int(offset[n])
        begin, rest = memory.put(offset), memory.empty(n_edges + 1, "i4")
        self.assertEqual(memory.get(is_short, 1, "i8")[0], (counts > n_slots).any())
        if (counts > n_slots).any():
            rows = struct.pack("<Qi4xQQQ", rest, n_slots, begin, at, is_short)
            again = self.append(memory, tree, rows)[1]
            self.assertTrue((again[counts > n_slots] == counts[counts > n_slots]).all())
        src, dst = memory.empty(n_edges + 1, "i4"), memory.empty(n_edges + 1, "i4")
        n_order = Launch(kernel("radius_graph", "order_kernel"),
                         struct.pack("<QQQQ", src, dst, at, begin) + slots
                         + struct.pack("<Qq", rest, n), memory, 2).run()
        found = list(zip(memory.get(dst, n_edges, "i4").tolist(),
                         memory.get(src, n_edges, "i4").tolist()))
        self.assertEqual(found, sorted(set(found)))
        sure, possible = tree.edges()
        self.assertLessEqual(sure, set(found))
        self.assertLessEqual(set(found), possible)
        return n_instructions, n_order, n_edges

    def test_radius_graph(self):
        random = np.random.default_rng(6)
        for seed in range(3):
            n, n_dim = int(random.integers(2, 300)), int(random.integers(1, 12))
            with self.subTest(n=n, n_dim=n_dim):
                self.find_edges(n, n_dim, 0.4 * n_dim**0.5, seed, (128, 1, 5)[seed])

    def test_instructions_of_radius_graph(self):
        wanted = documented()
        walk = self.find_edges(512, 8, 0.8, 9)[0]
        check_count(self, wanted, "append_kernel",
                    "leaf of 32 points, 8 dimensions, 512 normal points, radius 0.8",
                    walk / 16)
        _, order, n_edges = self.find_edges(256, 3, 1.2, 10)
        check_count(self, wanted, "order_kernel",
                    "point with %d edges on average" % (n_edges / 256), order / 256)

    def components(self, n, n_edges, seed):
        memory = Memory()
        random = np.random.default_rng(seed)
        src, dst = random.integers(0, n, (2, n_edges)).astype("i4")
        score = random.random(n_edges).astype("f4")
        parent, label = memory.empty(n, "i4"), memory.empty(n, "i4")
        Launch(kernel("connected_components", "start_kernel"),
               struct.pack("<Qq", parent, n), memory, 3).run()
        args = struct.pack("<qqQQQf4xQ", n, n_edges, memory.put(src), memory.put(dst),
                           memory.put(score), 0.5, label)
        count = Launch(kernel("connected_components", "hook_kernel"),
                       struct.pack("<Q", parent) + args, memory, 3).run()
        Launch(kernel("connected_components", "label_kernel"),
               struct.pack("<QQq", label, parent, n), memory, 3).run()
        expected = np.arange(n)
        for _ in range(n):
            low = np.minimum(expected[src], expected[dst])[score > 0.5]
            before = expected.copy()
            np.minimum.at(expected, src[score > 0.5], low)
            np.minimum.at(expected, dst[score > 0.5], low)
            if (expected == before).all():
                break
        self.assertEqual(memory.get(label, n, "i4").tolist(), expected.tolist())
        return count / tiles(n_edges, 32)

    def test_components(self):
        random = np.random.default_rng(7)
        for seed in range(4):
            n = int(random.integers(1, 900))
            with self.subTest(n=n):
                self.components(n, int(random.integers(0, 2 * n)), seed)

    def test_instructions_of_components(self):
        check_count(self, documented(), "hook_kernel",
                    "32 edges, 2048 random ones of 1024 nodes", self.components(1024, 2048, 8))


class EdgeFeatures(unittest.TestCase):
    FEATURES = (1, 0, 2, 3, 6, 7, 8, 5, 4)  # of the shipped filters

    def run_kernel(self, n, seed):
        memory = Memory()
        random = np.random.default_rng(seed)
        position = random.uniform(-1000, 1000, (n, 3)).astype("f4")
        src, dst = random.integers(0, n, (2, n)).astype("i4")
        width = len(self.FEATURES)
        out = memory.empty(n * width, "f4")
        args = struct.pack("<qi4xQQQQQQQi4xQQ", n, width, 0, 0, memory.put(position),
                           memory.put(src), memory.put(dst), 0, 0, 0, 0, out)
        scale = random.uniform(0.5, 100, 33).astype("f4")
        feature = np.zeros(33, "i4")
        feature[:width] = self.FEATURES
        parameters = args + feature.tobytes() + scale.tobytes()
        count = Launch(kernel("edge_features", "edge_features_kernel"), parameters,
                       memory, 2).run()
        found = memory.get(out, n * width, "f4").reshape(n, width) * scale[:width]
        s, d = position[src].astype(float), position[dst].astype(float)
        r, q = (np.hypot(p[:, 0], p[:, 1]).astype("f4").astype(float) for p in (s, d))
        dz, dr = d[:, 2] - s[:, 2], q - r
        safe = np.where(abs(dr) < 1e-6, np.where(dr < 0, -1e-6, 1e-6), dr)
        dphi = np.arctan2(s[:, 0] * d[:, 1] - s[:, 1] * d[:, 0],
                          s[:, 0] * d[:, 0] + s[:, 1] * d[:, 1])
        near = np.maximum(r, 1e-6), np.maximum(q, 1e-6)
        expected = np.stack([
            dphi, dr, dz, np.arcsinh(d[:, 2] / near[1]) - np.arcsinh(s[:, 2] / near[0]),
            np.arcsinh(s[:, 2] - r * dz / safe), np.arcsinh(dz / safe),
            np.arcsinh(1000 * dphi / safe), np.arctan2(dz, dr),
            np.sqrt(((d - s) ** 2).sum(1)),
        ], 1)
        np.testing.assert_allclose(found, expected, rtol=3e-6, atol=2e-5)
        return count / tiles(n, 32)

    def test_values(self):
        for n in (1, 77, 600):
            with self.subTest(n=n):
                self.run_kernel(n, n)

    def test_instructions(self):
        check_count(self, documented(), "edge_features_kernel",
                    "32 edges, the nine features of the shipped filters",
                    self.run_kernel(1024, 12))


class Reductions(unittest.TestCase):
    def reduce(self, name, n, width, kind, is_half, seed):
        memory = Memory()
        random = np.random.default_rng(seed)
        lengths = random.integers(0, 9, n)
        offset = np.concatenate([[0], np.cumsum(lengths)]).astype("i8")
        n_values = int(offset[-1])
        order = random.permutation(n_values).astype("i4")
        x = random.standard_normal((n_values, width)).astype("f2" if is_half else "f4")
        out = memory.empty(n * width, "f4")
        at = memory.put(x)
        args = struct.pack("<qiii4xQQQQQQQQQ", n, width, kind, 0, memory.put(offset),
                           memory.put(order), 0, 0, 0, 0 if is_half else at, out,
                           at if is_half else 0, 0)
        if name == "sum_vectors_kernel":  # two lists of segments, of which one is used
            args += bytes(len(args)) + struct.pack("<i4x", 1)
        count = Launch(kernel("segment_reduce", name), args, memory, 2).run()
        values = memory.get(out, n * width, "f4").reshape(n, width)
        for s in range(n):
            rows = x[order[offset[s] : offset[s + 1]]].astype(float)
            expected = np.zeros(width)
            if len(rows) > 0:
                expected = [
                    lambda: rows.sum(0), lambda: rows.mean(0), lambda: rows.max(0),
                    lambda: np.sqrt(((rows - rows.mean(0)) ** 2).sum(0)
                                    / ((len(rows) - 1 if len(rows) > 2 else 1) + 1e-6)),
                ][kind]()
            np.testing.assert_allclose(values[s], expected, rtol=1e-4, atol=1e-4)
        return count

    def test_kinds(self):
        for kind in range(4):
            with self.subTest(kind=kind):
                self.reduce("segment_reduce_kernel", 40 + 7 * kind, 5 + kind, kind,
                            kind % 2 == 1, kind)

    def test_sums_of_vectors(self):
        for n, width in ((1, 8), (77, 24), (200, 64)):
            with self.subTest(n=n, width=width):
                self.reduce("sum_vectors_kernel", n, width, 0, True, n)

    def test_instructions(self):
        count = self.reduce("sum_vectors_kernel", 1024, 32, 0, True, 11)
        check_count(self, documented(), "sum_vectors_kernel",
                    "warp of 8 segments of 4 values on average, 32 float16 wide",
                    count / 128)


class WholeEvent(unittest.TestCase):
    def test_table(self):
        with open("docs/tables/cuda-instructions.md", encoding="utf-8") as page:
            self.assertIn(event.table(), page.read())


if __name__ == "__main__":
    unittest.main()
