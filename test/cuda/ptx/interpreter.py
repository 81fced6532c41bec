"""Run the PTX that nvcc makes of a kernel, without a GPU, and count its work.

All threads of a launch are the elements of numpy arrays. At each step those at
the lowest address run their instruction, so that threads which branched apart
meet again where their paths do. Addresses are checked for bounds and alignment,
and a warp must be whole at mma.sync, shfl.sync and bar.warp.sync.

Semantics are the PTX manual's, for the instructions that cuda/ compiles to; any
other is an error. What ptxas makes of PTX, and the order of sums inside a tensor
core, are not covered.
"""

import os
import re

import numpy as np

WARP = 32
SECTOR = 32
BASE = 0x7F0000000000  # address of the memory of the device
SHARED = 0x100000  # what cvta.shared adds
TYPES = {
    "u": {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64},
    "s": {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64},
    "f": {16: np.float16, 32: np.float32, 64: np.float64},
}
TYPES["b"] = TYPES["u"]


class Fault(Exception):
    """What no device allows, or what is not understood."""


def split(text):
    """Operands: separated by commas that are in no bracket."""
    out, depth, word = [], 0, ""
    for letter in text:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += letter
    return out + [word.strip()] if word.strip() else out


class Instruction:
    def __init__(self, text):
        self.text = text
        found = re.match(r"@(!?)(%p\d+) (.*)", text)
        self.predicate = found and (found[2], found[1] == "!")
        word, _, rest = (found[3] if found else text).partition(" ")
        self.parts = word.split(".")
        self.operands = split(rest)
        self.type = self.parts[-1]


class Kernel:
    """The kernel of a file of PTX whose mangled name contains `name`."""

    def __init__(self, source, name):
        source = re.sub(r"//[^\n]*", "", source)
        files = re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"', source, re.M)
        self.files = {number: os.path.basename(path) for number, path in files}
        found = re.search(r"\.entry (\w*%s\w*)\((.*?)\)" % name, source, re.S)
        if found is None:
            raise Fault("no kernel %s" % name)
        self.name = found[1]
        self._read_parameters(found[2])
        start = source.index("{", found.end())
        self._read_body(source[start + 1 : source.index("\n}", start)])

    def _read_parameters(self, text):
        self.parameters, self.parameter_bytes = {}, 0
        for one in split(text):
            found = re.match(
                r"\.param\s+(?:\.align (\d+)\s+)?\.\w(\d+)\s+(\w+)(?:\[(\d+)\])?", one
            )
            size = int(found[2]) // 8
            align = int(found[1] or size)
            at = -(-self.parameter_bytes // align) * align
            self.parameters[found[3]] = at
            self.parameter_bytes = at + size * int(found[4] or 1)

    def _read_body(self, body):
        self.code, self.labels, self.shared_bytes = [], {}, 0
        self.lines, line = [], None  # of the source: file and number
        body = re.sub(r"^\s*\.(pragma|file)[^\n]*$", "", body, flags=re.M)
        body = re.sub(r"^\s*\.loc\s+(\d+) (\d+)[^\n]*$", r".line \1 \2;", body, flags=re.M)
        for text in re.sub(r"(\$\w+):", r"\1:;", body).split(";"):
            text = " ".join(text.split()).strip("{} ") if "[" not in text else text
            text = re.sub(r"^[{} \n\t]+", "", " ".join(text.split()))
            if text.count("}") > text.count("{"):
                text = text.rstrip("} ")
            if text.count("{") > text.count("}"):
                text += "}"
            if re.fullmatch(r"\$\w+:", text):
                self.labels[text[:-1]] = len(self.code)
            elif text.startswith(".line "):
                _, file, number = text.split()
                line = (self.files.get(file), int(number))
            elif text and not text.startswith("."):
                self.code.append(Instruction(text))
                self.lines.append(line)


class Memory:
    """Memory of the device: allocated one after the other, not a number."""

    def __init__(self, size=1 << 24):
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.end = 256
        self.is_valid = np.zeros(size, bool)

    def put(self, array):
        """The address of a copy."""
        array = np.ascontiguousarray(array)
        at = self.end
        self.bytes[at : at + array.nbytes] = array.view(np.uint8).reshape(-1)
        self.is_valid[at : at + array.nbytes] = True
        self.end = (at + array.nbytes + 511) // 256 * 256
        return BASE + at

    def empty(self, n, dtype):
        return self.put(np.full(n * np.dtype(dtype).itemsize, 0xFF, np.uint8))

    def get(self, address, n, dtype):
        at = address - BASE
        return self.bytes[at : at + n * np.dtype(dtype).itemsize].view(dtype)


class Launch:
    """One run of a kernel, and the work of its warps: instructions that they
    issue, bytes of the sectors of 32 that they reach in memory of the device
    (caches answer a part), and floating-point operations."""

    def __init__(self, kernel, parameters, memory, blocks, threads=256, shared=0):
        if len(parameters) > kernel.parameter_bytes + 7 or (
            kernel.parameter_bytes > len(parameters)
        ):
            raise Fault(
                "%s takes %d bytes of parameters, not %d"
                % (kernel.name, kernel.parameter_bytes, len(parameters))
            )
        self.kernel, self.memory = kernel, memory
        self.parameters = np.frombuffer(parameters, np.uint8)
        self.n = blocks * threads
        self.block = np.arange(self.n) // threads
        thread = np.arange(self.n) % threads
        self.shared = np.full((blocks, shared), 0xFF, np.uint8)
        self.special = {
            "%tid.x": thread,
            "%ctaid.x": self.block,
            "%ntid.x": np.full(self.n, threads),
            "%nctaid.x": np.full(self.n, blocks),
        }
        self.registers = {}
        self.n_bytes = self.n_flop = 0
        self.executed = np.zeros(len(kernel.code), np.int64)  # by warps

    # ------------------------------------------------------------ operands --

    def read(self, operand, kind, active):
        kind, bits = kind[0], int(kind[1:])
        dtype = TYPES[kind][bits]
        if operand in self.special:
            raw = self.special[operand][active].astype(np.uint64)
        elif operand.startswith("%"):
            if operand not in self.registers:
                self.registers[operand] = np.zeros(self.n, np.uint64)
            raw = self.registers[operand][active]
        elif operand.startswith(("0f", "0d")):
            raw = np.full(len(active), int(operand[2:], 16), np.uint64)
        elif operand in self.kernel.parameters:
            raw = np.full(len(active), self.kernel.parameters[operand], np.uint64)
        elif operand == "etx_shared_bytes":
            raw = np.zeros(len(active), np.uint64)
        else:
            value = int(operand.rstrip("U"), 0) & ((1 << bits) - 1)
            raw = np.full(len(active), value, np.uint64)
        return raw.astype(TYPES["u"][bits]).view(dtype)

    def write(self, operand, values, active):
        values = np.ascontiguousarray(values)
        if values.dtype == bool:
            values = values.astype(np.uint8)
        raw = values.view(TYPES["u"][8 * values.itemsize]).astype(np.uint64)
        if operand not in self.registers:
            self.registers[operand] = np.zeros(self.n, np.uint64)
        self.registers[operand][active] = raw

    def flag(self, operand, active):
        return self.read(operand, "u8", active) != 0

    def warps(self, active, text):
        """active [n_warps, 32]; the warps must be whole."""
        if len(active) % WARP != 0:
            raise Fault("a warp is apart at " + text)
        warps = active.reshape(-1, WARP)
        if (warps != warps[:, :1] // WARP * WARP + np.arange(WARP)).any():
            raise Fault("a warp is apart at " + text)
        return warps

    # -------------------------------------------------------------- memory --

    def locate(self, space, operand, active, size):
        """The bytes [n, size] of each access, as a store and indices."""
        found = re.match(r"\[([%$\w]+)(?:\+(-?\d+))?\]", operand)
        at = self.read(found[1], "u64", active).astype(np.int64) + int(found[2] or 0)
        if (at % size != 0).any():
            raise Fault("an access of %d bytes is not aligned" % size)
        if space == "param":
            return self.parameters, at[:, None] + np.arange(size)
        if space == "shared":
            if (at < 0).any() or (at + size > self.shared.shape[1]).any():
                raise Fault("shared memory out of bounds")
            at = at + self.block[active] * self.shared.shape[1]
            return self.shared.reshape(-1), at[:, None] + np.arange(size)
        at = (at - BASE)[:, None] + np.arange(size)
        if (at < 0).any() or not self.memory.is_valid[
            np.clip(at, 0, len(self.memory.bytes) - 1)
        ].all():
            raise Fault("memory out of bounds")
        sectors = np.unique(
            np.stack([np.repeat(active // WARP, size), at.reshape(-1) // SECTOR]), axis=1
        )
        self.n_bytes += SECTOR * sectors.shape[1]
        return self.memory.bytes, at

    @staticmethod
    def _space(parts):
        for space in ("param", "shared", "global"):
            if space in parts:
                return space
        raise Fault("memory of no known space")

    def ld(self, one, active):
        targets = split(one.operands[0].strip("{}"))
        dtype = np.dtype(TYPES[one.type[0]][int(one.type[1:])])
        store, at = self.locate(
            self._space(one.parts),
            one.operands[1],
            active,
            dtype.itemsize * len(targets),
        )
        values = np.ascontiguousarray(store[at]).view(dtype)
        for k, target in enumerate(targets):
            value = np.ascontiguousarray(values[:, k])
            if one.type[0] == "s":
                value = value.astype(np.int64)  # extended into any register
            self.write(target, value, active)

    def st(self, one, active):
        sources = split(one.operands[1].strip("{}"))
        values = np.stack([self.read(s, one.type, active) for s in sources], 1)
        store, at = self.locate(
            self._space(one.parts),
            one.operands[0],
            active,
            values.itemsize * len(sources),
        )
        store[at] = np.ascontiguousarray(values).view(np.uint8)

    def atom(self, one, active):
        """cas or add, one thread after the other."""
        if one.parts[2:] == ["add", "u64"]:
            return self.atom_add(one, active)
        if one.parts[2:] != ["cas", "b32"]:
            raise Fault("unknown: " + one.text)
        expected = self.read(one.operands[2], "b32", active)
        value = self.read(one.operands[3], "b32", active)
        before = np.zeros(len(active), np.uint32)
        store, at = self.locate("global", one.operands[1], active, 4)
        for t in range(len(active)):
            before[t] = store[at[t]].view(np.uint32)[0]
            if before[t] == expected[t]:
                store[at[t]] = value[t : t + 1].view(np.uint8)
        self.write(one.operands[0], before, active)

    def atom_add(self, one, active):
        value = self.read(one.operands[2], "u64", active)
        before = np.zeros(len(active), np.uint64)
        store, at = self.locate("global", one.operands[1], active, 8)
        for t in range(len(active)):
            before[t] = store[at[t]].view(np.uint64)[0]
            store[at[t]] = (before[t : t + 1] + value[t]).view(np.uint8)
        self.write(one.operands[0], before, active)

    # ---------------------------------------------------------------- warps --

    def vote(self, one, active):
        warps = self.warps(active, one.text)
        is_set = self.flag(one.operands[1], active).reshape(warps.shape)
        if one.parts[1:] == ["sync", "any", "pred"]:
            value = np.broadcast_to(is_set.any(1)[:, None], warps.shape)
        elif one.parts[1:] == ["sync", "ballot", "b32"]:
            bits = (is_set.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(1)
            value = np.broadcast_to(bits.astype(np.uint32)[:, None], warps.shape)
        else:
            raise Fault("unknown: " + one.text)
        self.write(one.operands[0], value.reshape(-1), active)

    def shfl(self, one, active):
        if one.parts[1:3] != ["sync", "bfly"]:
            raise Fault("unknown: " + one.text)
        warps = self.warps(active, one.text)
        lanes = np.arange(WARP) ^ int(self.read(one.operands[2], "u32", active)[0])
        values = self.read(one.operands[1], "u32", active).reshape(warps.shape)
        target, _, is_valid = one.operands[0].partition("|")
        self.write(target, values[:, lanes].reshape(-1), active)
        if is_valid:
            self.write(is_valid, np.ones(len(active), bool), active)

    def mma(self, one, active):
        """m16n8k16: of lane l, g = l / 4 and t = l % 4; a has rows g and g + 8,
        columns 2 t, 2 t + 1 and 8 more; b rows as a's columns, column g."""
        if one.parts[3:] != "m16n8k16 row col f32 f16 f16 f32".split():
            raise Fault("unknown: " + one.text)
        shape = self.warps(active, one.text).shape
        d, a, b, c = (split(o.strip("{}")) for o in one.operands)
        g, t = np.arange(WARP) // 4, np.arange(WARP) % 4
        left = np.zeros((shape[0], 16, 16))
        right = np.zeros((shape[0], 16, 8))

        def halves(register):
            words = self.read(register, "u32", active)
            return words.view(np.float16).reshape(shape + (2,)).astype(float)

        for w, register in enumerate(a):
            for h in range(2):
                left[:, g + w % 2 * 8, 2 * t + h + w // 2 * 8] = halves(register)[..., h]
        for w, register in enumerate(b):
            for h in range(2):
                right[:, 2 * t + h + w * 8, g] = halves(register)[..., h]
        product = left @ right
        self.n_flop += 2 * product.size * 16
        for w in range(4):
            sums = self.read(c[w], "f32", active).reshape(shape)
            sums = product[:, g + w // 2 * 8, 2 * t + w % 2] + sums
            self.write(d[w], sums.astype(np.float32).reshape(-1), active)

    # ----------------------------------------------------------- arithmetic --

    def mov(self, one, active):
        source, target = one.operands[1], one.operands[0]
        if one.type == "pred":
            return self.write(target, self.flag(source, active), active)
        bits = int(one.type[1:])
        if source.startswith("{"):
            words = split(source.strip("{}"))
            dtype = TYPES["u"][bits // len(words)]
            values = np.stack(
                [self.read(w, "u%d" % (bits // len(words)), active) for w in words], 1
            ).astype(dtype)
            values = np.ascontiguousarray(values).view(TYPES["u"][bits]).reshape(-1)
            return self.write(target, values, active)
        values = self.read(source, "u%d" % bits, active)
        if not target.startswith("{"):
            return self.write(target, values, active)
        words = split(target.strip("{}"))
        values = values.view(TYPES["u"][bits // len(words)]).reshape(-1, len(words))
        for k, word in enumerate(words):
            self.write(word, np.ascontiguousarray(values[:, k]), active)

    def setp(self, one, active):
        compare, (x, y) = one.parts[1], (
            self.read(o, one.type, active) for o in one.operands[1:]
        )
        is_unordered = compare in ("equ", "neu", "ltu", "leu", "gtu", "geu")
        result = {
            "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
            "gt": np.greater, "ge": np.greater_equal,
        }[compare[:2]](x, y)
        if one.type[0] == "f":
            either = np.isnan(x) | np.isnan(y)
            result = result | either if is_unordered else result & ~either
        self.write(one.operands[0], result, active)

    def selp(self, one, active):
        kind = "u" + one.type[1:]
        x, y = (self.read(o, kind, active) for o in one.operands[1:3])
        chosen = np.where(self.flag(one.operands[3], active), x, y)
        self.write(one.operands[0], chosen, active)

    def cvt(self, one, active):
        if one.parts[-2] == "f16x2":
            pair = [
                self.read(o, "f32", active).astype(np.float16).view(np.uint16)
                for o in one.operands[1:]
            ]
            words = pair[0].astype(np.uint32) << np.uint32(16) | pair[1]
            return self.write(one.operands[0], words, active)
        to, x = one.parts[-2], self.read(one.operands[1], one.type, active)
        if "sat" in one.parts:
            x = np.where(np.isnan(x), 0, np.clip(x, 0, 1))
        return self.write(
            one.operands[0], x.astype(TYPES[to[0]][int(to[1:])]), active
        )

    def logic(self, one, active):
        name = one.parts[0]
        if one.type == "pred":
            x = [self.flag(o, active) for o in one.operands[1:]]
        else:
            x = [self.read(o, "u" + one.type[1:], active) for o in one.operands[1:]]
        if name == "not":
            return self.write(one.operands[0], ~x[0], active)
        return self.write(
            one.operands[0], {"and": x[0] & x[1], "or": x[0] | x[1], "xor": x[0] ^ x[1]}[name],
            active,
        )

    def shift(self, one, active):
        bits = int(one.type[1:])
        x = self.read(one.operands[1], one.type, active)
        by = self.read(one.operands[2], "u32", active)
        most = np.minimum(by, bits - 1).astype(x.dtype)
        values = x << most if one.parts[0] == "shl" else x >> most
        if one.type[0] != "s":
            values = np.where(by >= bits, values.dtype.type(0), values)
        self.write(one.operands[0], values, active)

    def brev(self, one, active):
        x = self.read(one.operands[1], "u32", active)
        bits = np.unpackbits(x.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)
        packed = np.packbits(bits[:, ::-1].copy(), axis=1)
        self.write(one.operands[0], packed.view(">u4").reshape(-1).astype(np.uint32), active)

    def bfind(self, one, active):
        """shiftamt: zeros before the highest bit; of 0, -1."""
        if one.parts[1:] != ["shiftamt", "u32"]:
            raise Fault("unknown: " + one.text)
        x = self.read(one.operands[1], "u32", active)
        zeros = 31 - np.frexp(x.astype(float))[1] + 1
        self.write(
            one.operands[0], np.where(x == 0, -1, zeros).astype(np.int32), active
        )

    def bfi(self, one, active):
        kind = "u" + one.type[1:]
        a, b = (self.read(o, kind, active) for o in one.operands[1:3])
        first, n = (int(o) for o in one.operands[3:5])
        mask = a.dtype.type(((1 << n) - 1) << first)
        values = (a << a.dtype.type(first)) & mask | b & ~mask
        self.write(one.operands[0], values, active)

    def fma(self, x, y, z, parts):
        exact = x.astype(np.longdouble) * y + z
        out = exact.astype(x.dtype)
        if "rm" in parts:
            below = np.nextafter(out, x.dtype.type(-np.inf))
            out = np.where(out.astype(np.longdouble) > exact, below, out)
        return out

    @staticmethod
    def _divide(x, y):
        if x.dtype.kind == "f":
            return x / y
        down = np.where(y == 0, x.dtype.type(0), x // np.where(y == 0, 1, y))
        is_inexact = (down * y != x) & ((x < 0) != (y < 0))
        return (down + is_inexact).astype(x.dtype)

    def arithmetic(self, one, active):
        name, kind = one.parts[0], one.type
        if kind[0] == "f":
            self.n_flop += len(active) * {"fma": 2, "neg": 0, "abs": 0}.get(name, 1)
        x = [self.read(o, kind, active) for o in one.operands[1:]]
        if "wide" in one.parts:
            wide = TYPES[kind[0]][2 * int(kind[1:])]
            x = [v.astype(wide) for v in x[:2]] + (
                [self.read(one.operands[3], kind[0] + str(2 * int(kind[1:])), active)]
                if len(x) > 2
                else []
            )
        values = {
            "add": lambda: x[0] + x[1],
            "sub": lambda: x[0] - x[1],
            "mul": lambda: x[0] * x[1],
            "mad": lambda: x[0] * x[1] + x[2],
            "fma": lambda: self.fma(x[0], x[1], x[2], one.parts),
            "div": lambda: self._divide(x[0], x[1]),
            "rem": lambda: x[0] - self._divide(x[0], x[1]) * x[1],
            "min": lambda: np.fmin(x[0], x[1]),
            "max": lambda: np.fmax(x[0], x[1]),
            "copysign": lambda: np.copysign(x[1], x[0]),
            "neg": lambda: -x[0],
            "abs": lambda: np.abs(x[0]),
            "sqrt": lambda: np.sqrt(x[0]),
            "rcp": lambda: x[0].dtype.type(1) / x[0],
            "ex2": lambda: np.exp2(x[0]),
            "rsqrt": lambda: x[0].dtype.type(1) / np.sqrt(x[0]),
            "tanh": lambda: np.tanh(x[0]),
        }[name]()
        self.write(one.operands[0], values, active)

    # ------------------------------------------------------------------ run --

    def step(self, one, active):
        name = one.parts[0]
        if name in ("ld", "st", "atom", "shfl", "vote", "mma", "mov", "setp", "selp",
                    "cvt", "bfi", "brev", "bfind"):
            getattr(self, name)(one, active)
        elif name in ("and", "or", "xor", "not"):
            self.logic(one, active)
        elif name in ("shl", "shr"):
            self.shift(one, active)
        elif name == "cvta":
            self.write(one.operands[0], self.read(one.operands[1], "u64", active), active)
        else:
            self.arithmetic(one, active)

    def run(self):
        """To the end; returns instructions, bytes and operations of all warps."""
        at = np.zeros(self.n, np.int64)
        is_alive, waits = np.ones(self.n, bool), np.zeros(self.n, bool)
        with np.errstate(all="ignore"):
            while is_alive.any():
                if not (is_alive & ~waits).any():
                    waits[:] = False
                now = at[is_alive & ~waits].min()
                active = np.flatnonzero(is_alive & ~waits & (at == now))
                self._one(self.kernel.code[now], now, active, at, is_alive, waits)
        return np.array([self.executed.sum(), self.n_bytes, self.n_flop])

    def _one(self, one, now, active, at, is_alive, waits):
        self.executed[now] += len(np.unique(active // WARP))
        at[active] = now + 1
        if one.predicate:
            wanted = self.flag(one.predicate[0], active) != one.predicate[1]
            active = active[wanted]
        name = one.parts[0]
        if len(active) == 0:
            return
        if name in ("ret", "exit"):
            is_alive[active] = False
        elif name == "bra":
            at[active] = self.kernel.labels[one.operands[-1]]
        elif name == "bar" and one.parts[1] == "warp":
            self.warps(active, one.text)
        elif name == "bar":
            waits[active] = True
        else:
            try:
                self.step(one, active)
            except (Fault, KeyError) as error:
                raise Fault("%s: %s: %s" % (self.kernel.name, one.text, error)) from error
