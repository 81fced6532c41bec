#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Break a source in one small way at a time and see a suite fail.

mutate.py --compile COMMAND --sanitize FLAGS --link COMMAND --objects OBJECTS
          --libraries LIBRARIES --faults-objects OBJECTS
          --faults-libraries LIBRARIES [--share S] [--seed N] [--seconds N] [--out FOLDER]
          [SOURCE ...]

A mutant has one comparison, operator or constant changed, one statement removed
or one condition turned round. It is killed when one of the suites of its source
(SUITES below) fails or takes too long; the objects have --sanitize too, so that an
access beyond an array fails. Those that do not compile are left out, and those
with the machine code of the source without --sanitize, which are the same
program. The last line of each source and of the whole is the share that was killed; survivors
are listed. --share: of all mutants of a source, drawn with --seed. --seconds: no
mutant is begun later; sources are then taken in an order drawn with --seed.
"""
import argparse
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

# The suites that test a source, the one that kills most first; faults:NAME is the
# suite faults_memory for the scenarios that have this in their names.
IO_MODEL = ["io_model", "io_config", "io_safetensors", "io_model_host", "options",
            "faults:model_load", "faults:model_save"]
IO_EVENT = ["io_event", "io_csv", "io_files", "faults:event_read"]
LABELS = ["track_building", "checkop_labels"]
COMPLETION = ["completion", "learned_tables", "track_building",
              "faults:complete_tracks"]
FIRST_PASS = ["first_pass", "learned_tables", "first_pass_overlaps",
              "search_bounds", "faults:find_long_tracks"]
SUITES = {
    "src/base/json.c": ["json", "io_config", "train_config"],
    "src/base/json_parse.c": ["json", "io_safetensors"],
    "src/base/json_write.c": ["json", "io_model", "io_safetensors"],
    "src/base/text_parse.c": ["text", "io_csv"],
    "src/base/text_format.c": ["text"],
    "src/base/decimal.c": ["text"],
    "src/io/config.c": IO_MODEL,
    "src/io/csv.c": IO_EVENT,
    "src/io/csv_text.c": IO_EVENT,
    "src/io/detector_csv.c": IO_EVENT + ["faults:detector_read"],
    "src/io/event_csv.c": IO_EVENT,
    "src/io/features_csv.c": ["features"] + IO_EVENT,
    "src/io/tracks_csv.c": ["io_tracks", "io_files", "faults:csv"],
    "src/io/gzip.c": ["io_files", "io_csv"],
    "src/io/file.c": ["io_files"],
    "src/io/model_file.c": IO_MODEL + ["io_tables"],
    "src/io/safetensors.c": IO_MODEL,
    "src/io/safetensors_write.c": IO_MODEL,
    "src/io/tensor_floats.c": ["io_tensor_floats", "io_safetensors"],
    "src/io/table_tensors.c": ["io_tables"] + IO_MODEL,
    "src/train/checkpoint.c": ["train_steps", "train_differential",
                               "faults:checkpoint"],
    "src/train/config.c": ["train_config"],
    "src/train/config_check.c": ["train_config"],
    "src/train/config_sections.c": ["train_config"],
    "src/train/graphs/graph_file.c": ["train_cache"],
    "src/data/event_truth.c": ["event", "io_event", "eval_matching",
                               "faults:event_set"],
    "src/data/hit_order.c": ["completion", "first_pass", "train_truth"],
    "src/data/learned_table.c": ["io_tables", "completion", "first_pass"] + IO_MODEL,
    "src/op/ref/best_first.c": ["best_first", "checkop_chains"],
    "src/op/ref/mutual_best.c": ["mutual_best"] + LABELS,
    "src/op/ref/connected_components.c": LABELS,
    "src/op/ref/walkthrough.c": ["walkthrough", "checkop_walkthrough"],
    "src/op/ref/longest_paths.c": ["walkthrough", "checkop_walkthrough"],
    "src/stage/track_building/best_first.c": ["best_first"] + LABELS,
    "src/stage/completion/completion.c": ["completion"] + LABELS,
    "src/stage/completion/search.c": COMPLETION,
    "src/stage/helix/layer_table.c": COMPLETION,
    "src/stage/track_building/components.c": LABELS,
    "src/stage/track_building/mutual_best.c": ["mutual_best"] + LABELS,
    "src/stage/track_building/outward_edges.c": ["best_first", "mutual_best"]
    + LABELS,
    "src/stage/track_building/track_building.c": LABELS + ["best_first"],
    "src/stage/helix/track_helix.c": ["helix"] + COMPLETION,
    "src/stage/track_building/walkthrough.c": ["walkthrough"] + LABELS,
    "src/stage/helix/crossing.c": ["helix"] + FIRST_PASS + ["completion"],
    "src/stage/first_pass/extend.c": FIRST_PASS,
    "src/stage/completion/fill.c": FIRST_PASS + ["completion"],
    "src/stage/first_pass/first_pass.c": FIRST_PASS,
    "src/stage/first_pass/first_pass_table.c": FIRST_PASS + ["io_tables"],
    "src/stage/first_pass/free_seed.c": FIRST_PASS + ["completion"],
    "src/stage/helix/grid.c": FIRST_PASS + ["completion"],
    "src/stage/first_pass/seed.c": FIRST_PASS,
}

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


# A mutant may allocate any amount and never end. AddressSanitizer reserves
# terabytes of addresses, so that a limit of them would bound nothing.
SANITIZER_OPTIONS = "allocator_may_return_null=1:max_allocation_size_mb=4096:" \
    "hard_rss_limit_mb=4096"


def bound_time():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


class Mutator:
    def __init__(self, options):
        self.options = options
        self.out = Path(options.out)
        self.end = time.monotonic() + (options.seconds or float("inf"))
        self.out.mkdir(parents=True, exist_ok=True)
        # Else every run of some suites compiles it.
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8",
                        str(self.out / "de_DE.UTF-8")], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def compile(self, text, name, flags=""):
        """Machine code of the text, or None; the object is left in out."""
        source = self.out / f"{name}.c"
        source.write_text(text)
        self.object = self.out / f"{name}.o"
        command = [*shlex.split(self.options.compile), *shlex.split(flags), "-w",
                   "-g0", "-O1", "-c", str(source), "-o", str(self.object)]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        return self.object.read_bytes()

    def program(self, name, objects, libraries):
        """The suites with the object in place of the source's."""
        program = self.out / name
        subprocess.run([*shlex.split(self.options.link), str(self.object),
                        *shlex.split(objects), *shlex.split(libraries), "-o",
                        str(program)], check=True)
        return program

    def killer(self, text, name, suites):
        """The suite that fails with the text in place of the source, or None."""
        self.compile(text, name, self.options.sanitize)
        tests = self.program("mutant", self.options.objects, self.options.libraries)
        faults = None
        for suite in suites:
            program, scenario = tests, ""
            if suite.startswith("faults:"):
                faults = faults or self.program(
                    "faults", self.options.faults_objects, self.options.faults_libraries)
                program, (suite, scenario) = faults, ("faults_memory", suite[7:])
            environment = dict(os.environ, CK_RUN_SUITE=suite, ETX_SCENARIO=scenario,
                               CK_DEFAULT_TIMEOUT="300",
                               CK_VERBOSITY="silent", LOCPATH=str(self.out.resolve()),
                               ASAN_OPTIONS=SANITIZER_OPTIONS)
            try:
                done = subprocess.run([str(program)], env=environment, timeout=900,
                                      preexec_fn=bound_time,
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                return suite
            if done.returncode != 0:
                return suite
        return None

    def run(self, path):
        text = Path(path).read_text()
        suites = SUITES[path]
        name = path.replace("/", "_").removesuffix(".c")
        original = self.compile(text, name)
        if self.killer(text, name, suites) is not None:
            sys.exit(f"{path}: its suites fail without a change")
        mutants = mutants_of(text)
        draw = random.Random(f"{self.options.seed} {path}")
        wanted = sorted(draw.sample(mutants, max(1, round(
            self.options.share * len(mutants)))))
        killed = tried = 0
        for begin, end, new in wanted:
            if time.monotonic() > self.end:
                break
            mutant = text[:begin] + new + text[end:]
            made = self.compile(mutant, name)
            if made is None or made == original:
                continue
            tried += 1
            if self.killer(mutant, name, suites) is not None:
                killed += 1
                continue
            line = text.count("\n", 0, begin) + 1
            print(f"  {path}:{line}: {text[begin:end].strip()!r} -> {new!r} survives: "
                  f"{text.splitlines()[line - 1].strip()}", flush=True)
        print(f"{path}: {killed} of {tried} mutants killed", flush=True)
        return killed, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("compile", "sanitize", "link", "objects", "libraries",
                 "faults-objects", "faults-libraries"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--out", default="build/mutation")
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("sources", nargs="*", default=[])
    options = parser.parse_args()
    mutator = Mutator(options)
    sources = options.sources or list(SUITES)
    if options.seconds:
        random.Random(options.seed).shuffle(sources)
    killed = tried = 0
    for path in sources:
        if time.monotonic() > mutator.end:
            break
        one = mutator.run(path)
        killed, tried = killed + one[0], tried + one[1]
    print(f"mutation: {killed} of {tried} mutants killed, "
          f"{killed / max(tried, 1):.1%}")
    return killed < options.least * tried


if __name__ == "__main__":
    sys.exit(main())
