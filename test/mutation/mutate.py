#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Break a source in one small way at a time and see a suite fail.

mutate.py --compile COMMAND --sanitize FLAGS --link COMMAND --programs 'TESTS FAULTS'
          --objects OBJECTS --libraries LIBRARIES --faults-objects OBJECTS
          --faults-libraries LIBRARIES [--share S] [--seed N] [--seconds N]
          [--least S] [--out FOLDER] [SOURCE ...]

A mutant has one comparison, operator or constant changed, one statement removed
or one condition turned round. It is killed when one of the suites of its source
(SUITES below) fails or takes too long; the objects have --sanitize too, so that an
access beyond an array fails. Those that do not compile are left out, those with the
machine code of the source without --sanitize, which are the same program, and those
of uncounted.txt, which has functions too. --share of the mutants of all sources, drawn with --seed, are tried;
after --seconds the one that runs is killed, with all that it started, and does not
count. Survivors are listed; the last line is the share that was killed. The run fails
where so few would be killed, in one of a thousand samples of this size or less, if
--least of all were.
"""
import argparse
import contextlib
import functools
import math
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

# The suites that test the sources of a folder, or of what begins with a name, the
# one that kills most first; the longest name counts. SUITE:NAME is a
# suite of the program of failures, for the scenarios that have this in their names.
# stop and stop_files are not among them: they take longer than a mutant may.
IO_MODEL = ["io_model", "io_config", "io_safetensors", "io_model_host", "options",
            "io_tables", "faults_memory:model_load", "faults_memory:model_save"]
IO_EVENT = ["io_event", "io_csv", "io_files", "faults_memory:event_read"]
IO_FILES = ["io_files", "io_csv", "io_tracks", "io_model_host", "faults_files:"]
API = ["arguments", "refusals", "stages", "context", "host"]
GRAPH = ["graph", "arguments", "refusals", "features", "checkop_line_graph", "tracks",
         "conformance_networks", "faults_memory:graph"]
PARTS = ["parts", "arguments", "dist_parts", "conformance_parts"]
EVENT = ["event", "io_event", "features", "eval_matching", "arguments",
         "differential", "faults_memory:event"]
LABELS = ["track_building", "checkop_labels"]
HELICES = ["recorded", "learned_tables", "differential"]
COMPLETION = ["completion", *HELICES, "track_building", "faults_memory:complete_tracks"]
FIRST_PASS = ["first_pass", *HELICES, "first_pass_overlaps", "search_bounds",
              "faults_memory:find_long_tracks"]
PIPELINE = ["stages", "differential", "context", "memory", "arguments", "refusals",
            "host"]
NETWORKS = ["stages", "triplet_scores", "differential", "weight_cache",
            "conformance_families", "own_edge_features"]
GRAPHS = ["module_map", "bounded_radius", "stages", "recorded", "learned_tables",
          "differential"]
TRAINING = ["recorded", "train_steps", "train_config", "train_stability",
            "train_differential", "train_memory", "train_sampling"]
LEARNING = ["recorded", "learned_tables", "first_pass", "completion", "module_map",
            "arguments"]
SUITES = {
    "src/base/json": ["json", "io_config", "train_config", "io_model",
                      "io_safetensors"],
    "src/base/text": ["text", "io_csv"],
    "src/base/decimal.c": ["text"],
    "src/io/": IO_EVENT,
    "src/io/config.c": IO_MODEL,
    "src/io/detector_csv.c": IO_EVENT + ["faults_memory:detector_read"],
    "src/io/features_csv.c": ["features"] + IO_EVENT,
    "src/io/tracks_csv.c": ["io_tracks", "io_files", "faults_memory:csv"],
    "src/io/gzip.c": IO_FILES,
    "src/io/file": IO_FILES,
    "src/io/model_file.c": IO_MODEL,
    "src/io/safetensors": IO_MODEL,
    "src/io/table_tensors.c": ["io_tables"] + IO_MODEL,
    "src/io/tensor_floats.c": ["io_tensor_floats", "io_safetensors"],
    "src/train/": TRAINING,
    "src/train/checkpoint.c": TRAINING + ["faults_memory:checkpoint"],
    "src/train/config": ["train_config", "train_steps", "train_sampling"],
    "src/train/draw_batch.c": ["dist_world", "dist_team"] + TRAINING,
    "src/train/graphs/": ["train_cache"] + TRAINING,
    "src/train/hash.c": ["dist_world"] + TRAINING,
    "src/train/objective/": ["train_losses"] + TRAINING + ["dist_parts"],
    "src/train/ranks/": ["dist_training", "dist_team", "train_differential",
                         "dist_options", "dist_parts"] + TRAINING,
    "src/train/sampling/": ["train_sampling", "train_truth", "train_hard_negatives",
                            "train_augmentation"] + TRAINING,
    "src/train/setup.c": ["dist_parts", "dist_world"] + TRAINING,
    "src/train/state/": ["train_stability", "train_loss_scale"] + TRAINING,
    "src/train/validation/": ["train_metrics", "dist_team"] + TRAINING,
    "src/learn/": LEARNING,
    "src/learn/completion.c": ["completion"] + LEARNING,
    "src/learn/module_map.c": ["module_map"] + LEARNING,
    "src/data/": GRAPH,
    "src/data/cell_features.c": ["features"] + EVENT,
    "src/data/detector.c": EVENT,
    "src/data/event": EVENT + ["io_tracks"],
    "src/data/hit_features.c": ["features"] + EVENT,
    "src/data/hit_order.c": ["completion", "first_pass", "train_truth", *EVENT],
    "src/data/id_index.c": EVENT,
    "src/data/learned_table.c": ["io_tables", "completion", "first_pass", *IO_MODEL,
                                 "faults_memory:model_learn"],
    "src/data/part": PARTS,
    "src/data/particle.c": ["train_truth", "eval_matching"],
    "src/data/tracks.c": ["tracks", "io_tracks", "arguments", "track_building"],
    "src/api/": API,
    "src/api/completion.c": API + COMPLETION,
    "src/api/evaluate.c": ["eval_refusals", "eval_matching", "eval_score",
                           "clopper_pearson"] + API,
    "src/api/event.c": EVENT + API,
    "src/api/first_pass.c": API + FIRST_PASS,
    "src/api/fit.c": ["track_fitting"] + API,
    "src/api/graph.c": GRAPH + API,
    "src/api/label.c": LABELS + API,
    "src/api/learn.c": LEARNING + API,
    "src/api/model.c": IO_MODEL + API,
    "src/api/module_map.c": ["module_map"] + API,
    "src/api/options.c": ["options"] + API,
    "src/api/part.c": PARTS + API,
    "src/api/read.c": IO_EVENT + API,
    "src/api/stages.c": API + ["first_pass", "graph"],
    "src/api/tracks": ["tracks", "io_tracks"] + API,
    "src/api/train.c": ["train_steps", "train_config", "dist_training"] + API,
    "src/api/version.c": ["status"],
    "src/stage/": PIPELINE,
    "src/stage/event_check.c": ["event_check"],
    "src/stage/truth_check.c": ["event_check"],
    "src/stage/completion/": COMPLETION,
    "src/stage/completion/fill.c": FIRST_PASS + ["completion"],
    "src/stage/edge_classification/": NETWORKS,
    "src/stage/edge_classification/score_part.c": PARTS,
    "src/stage/first_pass/": FIRST_PASS,
    "src/stage/first_pass/first_pass_table.c": FIRST_PASS + ["io_tables"],
    "src/stage/first_pass/free_seed.c": FIRST_PASS + ["completion"],
    "src/stage/graph_construction/": GRAPHS,
    "src/stage/helix/": ["helix"] + FIRST_PASS + ["completion"],
    "src/stage/node_features.c": ["features"] + NETWORKS,
    "src/stage/options.c": ["options"] + IO_MODEL,
    "src/stage/track_building/": ["best_first", "mutual_best", "walkthrough"] + LABELS,
    "src/stage/track_fitting/": ["track_fitting", "recorded"],
}
# What is drawn from, unless sources are named.
FOLDERS = ["stage", "train", "io", "data", "api", "learn"]


def all_sources():
    """Not of simd/, which the Makefile compiles once for each instruction set, nor of
    what runs on a device alone."""
    return sorted(str(path) for folder in FOLDERS
                  for path in Path("src", folder).rglob("*.c")
                  if path.parent.name != "simd" and path.stem != "graph_mirror")


def suites_of(path):
    return SUITES[max(filter(path.startswith, SUITES), key=len)]


# (pattern, replacements); the pattern is searched in code without comments,
# texts and preprocessor lines.
OPERATORS = [
    (r"<=(?!=)", ["<"]),
    (r">=(?!=)", [">"]),
    (r"(?<![<>=\-])<(?![<=])", ["<="]),
    (r"(?<![<>=\-])>(?![>=])", [">="]),
    (r"==", ["!="]),
    (r"!=", ["=="]),
    (r"&&", ["||"]),
    (r"\|\|", ["&&"]),
    (r"(?<=\s)\+(?=\s)", ["-"]),
    (r"(?<=\s)-(?=\s)", ["+"]),
    (r"\+\+", ["--"]),
    (r"(?<=\s)\+=", ["-="]),
    (r"!(?=[\w(])", [""]),
    (r"(?<![\w.'\"\\])(?:0x[0-9A-Fa-f]+|\d+)(?![\w.'])", ["plus", "minus"]),
]
STATEMENT = re.compile(r"^\s+(?!\s|return|const |int|size_t|static|struct|char|float"
                       r"|double|uint|\}|\{|goto|case|default|etx_\w+ \*?\w+( =|;))"
                       r"[^{}]*;$")


def blank(match):
    """The same length without what is in it, lines kept."""
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)
    text = re.sub(r"'(?:\\.|[^'\\\n])+'", blank, text)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", blank, text, flags=re.M)


def body_spans(code):
    """Where functions are: from a line { to a line }."""
    return [match.span() for match in re.finditer(r"^\{$.*?^\}$", code, re.M | re.S)]


def mutants_of(text):
    """Tuples (begin, end, replacement)."""
    code = code_of(text)
    found = []
    for begin, end in body_spans(code):
        for pattern, replacements in OPERATORS:
            for match in re.finditer(pattern, code[begin:end]):
                for new in replacements:
                    if new in ("plus", "minus"):
                        base = 8 if re.fullmatch("0[0-7]+", match.group()) else 0
                        value = int(match.group(), base) + (1 if new == "plus" else -1)
                        if value < 0:
                            continue
                        new = str(value)
                    found.append((begin + match.start(), begin + match.end(), new))
        line_begin = begin
        for line in code[begin:end].splitlines(keepends=True):
            if STATEMENT.match(line.rstrip("\n")):
                found.append((line_begin, line_begin + len(line) - 1, ";"))
            line_begin += len(line)
    return found


def lines_of(text, begin, end, new):
    """The line of the source, and that of the mutant."""
    first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
    return (text[first:last].strip(),
            (text[first:begin] + new + text[end:last]).strip())


def function_at(text, begin):
    """The name of the function that is there."""
    code = code_of(text)
    head = code.rfind("\n{\n", 0, begin)
    return re.match(r"[^(]*?(\w+)\(", code[code.rfind("\n\n", 0, head):head]).group(1)


def mutants_like(path, lines):
    """How many mutants of a source an entry of uncounted.txt names."""
    text = Path(path).read_text()
    return sum(lines == ((function_at(text, mutant[0]),) if len(lines) == 1
                         else lines_of(text, *mutant)) for mutant in mutants_of(text))


def uncounted():
    """What uncounted.txt lists: (source, its line, the mutant's line), or (source,
    function)."""
    _, *blocks = Path(__file__).with_name("uncounted.txt").read_text().split("\n\n")
    entries = [(path, *re.findall(r"^[-+*] (.+)", rest, re.M)) for path, rest in
               (re.match(r"(\S+): .+\n((?s:.+))", block).groups() for block in blocks)]
    for path, *lines in entries:
        n = mutants_like(path, tuple(lines))
        if n == 0 or n > 1 and len(lines) == 2:
            sys.exit("uncounted.txt: not one mutant of {}:\n{}".format(
                path, "\n".join(lines)))
    return set(entries)


class OutOfTime(Exception):
    """--seconds are over."""


# A mutant may allocate any amount and never end. AddressSanitizer reserves
# terabytes of addresses, so that a limit of them would bound nothing. Its
# limit of all memory opens a descriptor, so not where these are counted.
SANITIZER_OPTIONS = "allocator_may_return_null=1:max_allocation_size_mb=4096"
MEMORY_LIMIT = ":hard_rss_limit_mb=4096"
# Of the processor, so that a busy machine kills no mutant; and of the clock, for
# mutants that wait for ever.
SUITE_SECONDS, WAIT_SECONDS = 60, 900


def bound_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SUITE_SECONDS, SUITE_SECONDS))


class Mutator:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.seconds
        self.uncounted = uncounted()
        self.out = Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.originals = {}
        # Else every run of some suites compiles it.
        self.run(["localedef", "-i", "de_DE", "-f", "UTF-8",
                  str(self.out / "de_DE.UTF-8")])

    def run(self, command, **how):
        """The exit code; nothing that the command started is left."""
        left = self.end - time.monotonic()
        with subprocess.Popen(command, start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              **how) as process:
            try:
                return process.wait(min(left, WAIT_SECONDS))
            except subprocess.TimeoutExpired:
                if left < WAIT_SECONDS:
                    raise OutOfTime from None
                return -signal.SIGKILL
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def compile(self, text, flags=""):
        """Machine code of the text, or None; the object is left in out."""
        source, self.object = self.out / "mutant.c", self.out / "mutant.o"
        source.write_text(text)
        command = [*shlex.split(self.options.compile), *shlex.split(flags), "-w",
                   "-g0", "-O1", "-c", str(source), "-o", str(self.object)]
        return self.object.read_bytes() if self.run(command) == 0 else None

    def program(self, is_faults):
        """The suites with the object in place of the source's."""
        program = self.out / ("faults" if is_faults else "tests")
        objects, libraries = (
            (self.options.faults_objects, self.options.faults_libraries) if is_faults
            else (self.options.objects, self.options.libraries))
        if self.run([*shlex.split(self.options.link), str(self.object),
                     *shlex.split(objects), *shlex.split(libraries), "-o",
                     str(program)]) != 0:
            sys.exit(f"{program}: does not link")
        return program

    def fails(self, program, suite):
        """All tests in one process: its limit of time is that of the suite."""
        suite, is_faults, scenario = suite.partition(":")
        environment = dict(os.environ, CK_RUN_SUITE=suite, ETX_SCENARIO=scenario,
                           CK_FORK="no", CK_VERBOSITY="silent",
                           LOCPATH=str(self.out.resolve()),
                           ASAN_OPTIONS=SANITIZER_OPTIONS +
                           ("" if is_faults else MEMORY_LIMIT))
        return self.run([str(program)], env=environment, preexec_fn=bound_time) != 0

    @functools.cache
    def is_judge(self, suite):
        """Whether it passes without a change, so that a failure is the mutant's."""
        program = shlex.split(self.options.programs)[":" in suite]
        passes = not self.fails(program, suite)
        if not passes:
            print(f"{suite}: fails without a change, and judges no mutant", flush=True)
        return passes

    def is_killed(self, path, text):
        self.compile(text, self.options.sanitize)
        programs = {}
        for suite in suites_of(path):
            is_faults = ":" in suite
            if is_faults not in programs:
                programs[is_faults] = self.program(is_faults)
            if self.fails(programs[is_faults], suite) and self.is_judge(suite):
                return True
        return False

    def try_mutant(self, path, begin, end, new):
        """True: killed, False: survives, None: not counted."""
        text = Path(path).read_text()
        lines = lines_of(text, begin, end, new)
        if not self.uncounted.isdisjoint({(path, *lines),
                                          (path, function_at(text, begin))}):
            return None
        if path not in self.originals:
            self.originals[path] = self.compile(text)
        mutant = text[:begin] + new + text[end:]
        if self.compile(mutant) in (None, self.originals[path]):
            return None
        if self.is_killed(path, mutant):
            return True
        line = text.count("\n", 0, begin) + 1
        print(f"{path}:{line}: survives\n- {lines[0]}\n+ {lines[1]}", flush=True)
        return False


def are_too_few(killed, tried, least):
    """Would a sample of a suite that kills `least` have so few once in a thousand?"""
    return sum(math.comb(tried, k) * least ** k * (1 - least) ** (tried - k)
               for k in range(killed + 1)) < 0.001


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("compile", "sanitize", "link", "programs", "objects", "libraries",
                 "faults-objects", "faults-libraries"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", default="build/mutation")
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    mutator = Mutator(options)
    mutants = [(path, *mutant) for path in options.sources or all_sources()
               for mutant in mutants_of(Path(path).read_text())]
    results = []
    with contextlib.suppress(OutOfTime):
        for mutant in random.Random(options.seed).sample(
                mutants, round(options.share * len(mutants))):
            results.append(mutator.try_mutant(*mutant))
    killed, tried = results.count(True), len(results) - results.count(None)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"mutation: {killed} of {tried} mutants killed, {killed / max(tried, 1):.1%}, "
          f"in {(used.ru_utime + used.ru_stime) / max(tried, 1):.1f} CPU s each")
    return are_too_few(killed, tried, options.least)


if __name__ == "__main__":
    # Leaves by the way that kills what runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
