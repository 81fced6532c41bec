#!/bin/sh
# Run the tests on what `make check` built, several at a time.
#   test/check.sh BUILD LIB [ITEM...]     JOBS (default: the processors)
# BUILD and LIB are the folders of the programs and of the library. An item is a
# section below (programs), a suite (suite:graph), a suite on the CPU emulation of
# CUDA (device:checkop_mlp), there with every access checked (checked:cuda_half,
# with 48 KiB of shared memory in place of 99 checked:cuda_half@48), a test of
# failing calls (faults:test_faults_cancel), or one of the lists: sections, suites,
# devices, checked, faults, fast, quick (the suites of fast).
# Default: all. What a machine lacks is reported as SKIPPED, one line for each
# reason. The last line counts tests as Check does; a section is one test, and one
# that ends with 77 has run nothing and is counted apart. Tests and items that are
# slow (test/README.md) run with ETX_SLOW=1 alone, as make check-all sets it.
set -eu
slow=${ETX_SLOW:+none}
# A make within a test cannot share the jobs of the make that runs this, and warns.
MAKEFLAGS=$(echo "${MAKEFLAGS:-}" | sed 's/ *-j[0-9]*//; s/ *--jobserver-[a-z]*=[^ ]*//')
export MAKEFLAGS

# The longest first.
sections='python packages dist programs upgrade install loader odd troubleshooting
    how-to:add-a-network how-to:add-a-backend acts parts mpi docs handles
    studies gpu-report ptx headers lint links symbols abi nccl'
for page in docs/howto/*.md; do
    page=how-to:$(basename "$page" .md)
    case $sections in *"$page"*) ;; *) sections="$sections $page" ;; esac
done
# Builds the library and the emulation of CUDA again.
[ -n "$slow" ] || sections=$(echo "$sections" | sed 's/how-to:add-an-operator//')

# section NAME: what it runs.
section()
{
    case $1 in
    headers) test/header/headers.sh "$lib" "$build" ;;
    lint)
        test/lint/includes.sh
        test/lint/calls.sh "$lib/libexatrkx.so" "$lib/libexatrkx_dist.so"
        test/lint/words.sh
        test/lint/lists.sh
        ;;
    symbols)
        test/lint/abi.sh "$lib/libexatrkx.so" lib/exatrkx.map \
            include/exatrkx/[!d]*.h
        test/lint/abi.sh "$lib/libexatrkx_dist.so" lib/exatrkx_dist.map \
            include/exatrkx/dist.h
        test/lint/exercised.sh "$lib/libexatrkx.so" "$lib/libexatrkx_dist.so"
        ;;
    abi) test/lint/abi_types.sh "$lib" ;;
    docs)
        command -v doxygen >/dev/null 2>&1 ||
            { echo 'SKIPPED docs: no doxygen'; exit 77; }
        make --no-print-directory docs
        grep -oh 'href="[^"#]*' docs/html/[im][nda]*.html | sort -u |
            cut -d'"' -f2 | grep -v : | while read -r file; do
            [ -e "docs/html/$file" ] || { echo "docs: no page $file" >&2; exit 1; }
        done
        # Doxygen leaves the asterisks where bold text begins with code.
        ! grep '\*\*<code>' docs/html/*.html /dev/null
        ;;
    programs) test/programs/programs.sh "$build" ;;
    dist) test/dist/dist.sh "$build" "$lib" ;;
    mpi) test/dist/mpi_faults.sh "$build" ;;
    nccl) test/dist/nccl.sh ;;
    install) test/programs/install.sh "$build" "$lib" ;;
    parts) test/dist/parts.sh "$build" ;;
    upgrade) test/upgrade/upgrade.sh "$build" "$lib" ;;
    loader) test/hosts/loader.sh "$build" "$lib" ;;
    odd) test/hosts/odd.sh "$build" "$lib" ;;
    gpu-report) test/cuda/report.sh ;;
    ptx) test/cuda/ptx/ptx.sh ;;
    handles) test/pages/handles.sh "$lib" ;;
    links) test/pages/links.sh ;;
    troubleshooting) test/pages/troubleshooting.sh "$build" "$lib" ;;
    how-to:*)
        test/pages/howto.sh "$build" "$lib" "docs/howto/${1#how-to:}.md"
        ;;
    acts) test/programs/acts.sh "$build" "$lib" ;;
    python) test/python/python.sh "$build" "$lib" ;;
    studies) test/python/python.sh "$build" "$lib" examples/studies/test ;;
    packages) test/programs/debian.sh ;;
    suite:*)
        CK_RUN_SUITE=${1#*:} CK_EXCLUDE_TAGS=${slow:-slow} \
            "$build/test/exatrkx-tests"
        ;;
    device:*)
        CK_RUN_SUITE=${1#*:} CK_EXCLUDE_TAGS="large ${slow:-slow}" ETX_CPU=ref \
            "$build/test/cuda-shim-tests"
        ;;
    checked:*)
        suite=${1#*:}
        # Shared memory of consumer and data centre devices, too.
        case $suite in *@*) export ETX_SHIM_SHARED="${suite#*@}" ;; esac
        CK_RUN_SUITE=${suite%@*} CK_EXCLUDE_TAGS="large ${slow:-slow}" \
            ETX_CPU=ref \
            CK_TIMEOUT_MULTIPLIER=5 "$build/test/cuda-shim-checked"
        ;;
    faults:*)
        CK_RUN_CASE=${1#*:} "$build/test/faults-tests"
        ;;
    *)
        echo "no section $1" >&2
        return 1
        ;;
    esac
}

# run NAME: a section, its output to the file $out/NAME and, unless it is a suite
# that passes, to stdout.
run()
{
    begin=$(date +%s)
    code=0
    # In a shell of its own: within a condition no failing command but the last
    # would end a section.
    "$0" --section "$build" "$lib" "$1" >"$out/$1" 2>&1 || code=$?
    case $code in
    0) status=passed ;;
    77) status=SKIPPED ;;
    *) status=FAILED ;;
    esac
    echo "$status" >"$out/$1.status"
    case $status:$1 in
    passed:suite:* | passed:device:* | passed:checked:* | passed:faults:*)
        return
        ;;
    esac
    until mkdir "$out/lock" 2>/dev/null; do sleep 0.02; done
    if [ "$status" = SKIPPED ]; then
        echo "== $1: SKIPPED ($(sed -n 's/^SKIPPED [^:]*: //p' "$out/$1" | head -1))"
    else
        echo "== $1: $status, $(($(date +%s) - begin)) s"
    fi
    grep -v '^SKIPPED' "$out/$1" || true
    rmdir "$out/lock"
}

# list PROGRAM OPTION PREFIX: what a test program has, a line each.
list()
{
    lines=$("$1" "$2")
    [ -n "$lines" ]
    echo "$lines" | sed "s/^/$3/"
}

# expand ITEM...: items, a line each.
expand()
{
    for item; do
        # The list of sections is meant to split into words.
        # shellcheck disable=SC2086
        case $item in
        sections) expand $sections ;;
        suites) list "$build/test/exatrkx-tests" --list suite: ;;
        # One by one: a suite of them takes longer than all others.
        faults) list "$build/test/faults-tests" --tests faults: ;;
        fast) expand headers lint links symbols quick ;;
        quick)
            # stop measures time, of optimised code.
            expand suites | grep -vE \
                '^suite:((conformance|checkop|train|dist|golden|cuda)_|stop(_files)?$)'
            ;;
        checked)
            list "$build/test/cuda-shim-checked" --list checked:
            for suite in cuda cuda_half cuda_labels cuda_shim_views; do
                expand "checked:$suite@48" "checked:$suite@227"
            done
            ;;
        devices)
            if [ -x "$build/test/cuda-shim-tests" ]; then
                list "$build/test/cuda-shim-tests" --list device:
                expand checked:cuda_half@48 checked:checkop_labels \
                    checked:checkop_segment_reduce
                [ -z "$slow" ] || expand checked:cuda_half \
                    checked:cuda_half@227 checked:cuda_shim_inputs \
                    checked:checkop_radius_graph
            else
                echo 'SKIPPED CPU emulation of CUDA: no C++ compiler, or not' \
                    'x86-64' >"$out/devices"
            fi
            ;;
        *) echo "$item" ;;
        esac
    done
}

# One line for each reason: SKIPPED what, what and 3 more: reason.
skipped()
{
    cat "$@" | sed -n 's/^SKIPPED //p' | awk '!seen[$0]++' | awk '
        {
            colon = index($0, ": ")
            what = substr($0, 1, colon - 1)
            reason = substr($0, colon + 2)
            if (!(reason in n))
                order[++n_reasons] = reason
            if (++n[reason] <= 3)
                list[reason] = list[reason] (n[reason] > 1 ? ", " : "") what
        }
        END {
            for (i = 1; i <= n_reasons; i++) {
                reason = order[i]
                more = n[reason] > 3 ? " and " (n[reason] - 3) " more" : ""
                printf "SKIPPED %s%s: %s\n", list[reason], more, reason
            }
        }'
}

# The sum of the lines "100%: Checks: 29, Failures: 0, Errors: 0" and, where
# there is none, of passed, failed and skipped sections.
summary()
{
    for file in "$out"/*.status; do
        if ! grep -E '^[0-9]+%: Checks: ' "${file%.status}"; then
            sed 's/passed/0%: Checks: 1, Failures: 0, Errors: 0/
                s/FAILED/0%: Checks: 1, Failures: 1, Errors: 0/' "$file"
        fi
    done | tr -d , | awk '
        /^SKIPPED$/ { skipped++; next }
        { checks += $3; failures += $5; errors += $7 }
        END {
            bad = failures + errors
            if (checks + skipped == 0)
                exit 1
            share = checks == 0 ? 1 : (checks - bad) / checks
            printf "%d%%: Checks: %d, Failures: %d, Errors: %d, Skipped: %d\n",
                int(100 * share), checks, failures, errors, skipped
            exit bad > 0
        }'
}

if [ "$1" = --section ]; then
    build=$2 lib=$3
    section "$4"
    exit
fi
if [ "$1" = --run ]; then
    build=$2 lib=$3 out=$4
    run "$5"
    exit
fi
build=$1
lib=$2
shift 2
[ $# -gt 0 ] || set -- sections faults devices suites
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
expand "$@" >"$out/.items"
awk '!seen[$0]++' "$out/.items" | xargs -P "${JOBS:-$(nproc)}" -n 1 \
    "$0" --run "$build" "$lib" "$out"
skipped "$out"/*
[ -n "$slow" ] || echo 'left out: what is slow (test/README.md); ETX_SLOW=1'
failed=$(grep -l FAILED "$out"/*.status | sed 's|.*/||; s|\.status$||' || true)
[ -z "$failed" ] ||
    echo "failed; again: test/check.sh $build $lib" "$(echo "$failed" | xargs)"
# A program that fails when it ends has counted no failure.
summary && [ -z "$failed" ]
