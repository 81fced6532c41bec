"""Instructions that a device executes, estimated from what ptxas made of a kernel.

nvdisasm says which line of the source each instruction is of, and so does PTX,
of which the interpreter knows how often each instruction ran. A block of SASS
without branches inside runs as a whole:

* with accesses of global or shared memory: these run as often as the accesses of their
  line in PTX, which the copies of an unrolled loop share;
* else as often as the PTX of its lines does, in the mean of a line and the median
  over the instructions of the block;
* a division of 64 bits as often as PTX has it; what is called for denormal
  numbers never.
"""

import functools
import os
import re
import statistics

ACCESSES = {"LDG": "ld global", "STG": "st global", "LDS": "ld shared", "STS": "st shared"}
ENDS = ("BRA", "EXIT", "RET", "CALL", "BRX")


@functools.lru_cache(None)
def read_blocks(path):
    """Mangled name of a kernel -> its blocks, each the name of the routine that it
    is of (None: the kernel) and instructions (line, opcode)."""
    kernels, blocks, line, routine = {}, None, None, None
    with open(path, encoding="utf-8") as text:
        for row in text:
            if found := re.match(r"\.text\.(\S+):$", row):
                blocks, routine = kernels.setdefault(found[1], []), None
                blocks.append((routine, []))
            elif blocks is None:
                continue
            elif found := re.match(r'\s*//## File "([^"]*)", line (\d+)', row):
                line = (os.path.basename(found[1]), int(found[2]))
            elif row.startswith((".L_", "$")):
                found = re.search(r"\$__internal\w*\$__cuda_\w+?_(\w+):", row)
                routine = found[1] if found else routine
                blocks.append((routine, []))
            elif found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?\s*(\w+)", row):
                if found[1] != "NOP":
                    blocks[-1][1].append((line, found[1]))
                if found[1] in ENDS:
                    blocks.append((routine, []))
    return kernels


def access_of(one):
    """"ld global" and the like of an instruction of PTX, or None."""
    space = next((s for s in ("global", "shared") if s in one.parts), None)
    return "%s %s" % (one.parts[0], space) if space else None


def add(table, key, n):
    table.setdefault(key, []).append(n)


def executed(path, launch):
    """By the warps of a launch that has run, with the SASS of the file."""
    runs, accesses, wide = {}, {}, {}
    kernel = launch.kernel
    for line, one, n in zip(kernel.lines, kernel.code, launch.executed.tolist(), strict=True):
        add(runs, line, n)
        add(accesses, (line, access_of(one)), n)
        add(wide, "%s_%s" % (one.parts[0], one.type), n)
    blocks = read_blocks(path)[kernel.name]
    copies = {}
    for _, block in blocks:
        for line, opcode in block:
            add(copies, (line, ACCESSES.get(opcode)), 1)

    def of_access(line, opcode):
        """Not more often than any in PTX: ptxas may join two accesses."""
        n = accesses[line, ACCESSES[opcode]]
        return min(sum(n) / len(copies[line, ACCESSES[opcode]]), max(n))

    total = 0.0
    for routine, block in blocks:
        known = [
            of_access(*one) for one in block
            if one[1] in ACCESSES and (one[0], ACCESSES[one[1]]) in accesses
        ]
        lines = [statistics.mean(runs.get(line, [0])) for line, _ in block]
        if routine is not None:
            total += len(block) * sum(wide.get(routine, [0]))
        elif known:
            total += len(block) * statistics.mean(known)
        elif lines:
            total += len(block) * statistics.median(lines)
    return total
