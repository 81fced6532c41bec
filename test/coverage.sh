#!/bin/sh
# How much of src a build with coverage ran: lines and branches of each source and
# of three parts of it; a part below its least share fails.
# $1: the folder of the build. $2: what ran: all, quick (the suites of that list)
# or nothing, of which no share is required.
set -eu
build=$1
ran=${2:-}
status=0

# part NAME LINES BRANCHES FILTER...: the least shares in percent.
part()
{
    name=$1
    lines=$2
    branches=$3
    shift 3
    for filter; do
        set -- "$@" --filter "$filter"
        shift
    done
    echo "$name, at least $lines % of the lines and $branches % of the branches:"
    gcovr --root . -a "$build/counts.json" "$@" -o "$build/part" \
        --print-summary --fail-under-line "$lines" \
        --fail-under-branch "$branches" || status=1
}

gcovr --root . --filter src/ --json "$build/counts.json" "$build"
gcovr --root . -a "$build/counts.json"
case $ran in
all)
    part src 98 85 'src/'
    part parsers 99.5 95 'src/io/' 'src/base/(json|text|decimal)'
    part api 99.5 95 'src/api/'
    ;;
quick)
    part src 75 55 'src/'
    part parsers 98 90 'src/io/' 'src/base/(json|text|decimal)'
    part api 92 85 'src/api/'
    ;;
esac
exit $status
