#!/bin/sh
# Do what the pages of docs/howto say, each in a copy of the sources with what
# was built in folders $1 and $2. Pages may follow; default: all.
set -eu
build=$1
lib=$2
shift 2
[ $# -gt 0 ] || set -- docs/howto/*.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# What a page needs and this machine lacks; empty: nothing.
lacking()
{
    case $1 in
    import-checkpoint) has python3 && has_module numpy && has_module torch ;;
    own-detector) has python3 && has_module numpy ;;
    cluster) has_module distributed ;;
    service) has_module mlserver && has_module tritonclient ;;
    call-from-cpp) has g++ ;;
    call-from-acts) has cmake && has c++ ;;
    esac
}

has()
{
    command -v "$1" >/dev/null 2>&1 || { echo "no $1"; return 1; }
}

has_module()
{
    python3 -c "import $1" 2>/dev/null || { echo "no $1 for Python"; return 1; }
}

# Whether CMake finds an ACTS.
has_acts()
{
    mkdir -p "$tmp/acts"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(acts CXX)' \
        'find_package(Acts REQUIRED)' >"$tmp/acts/CMakeLists.txt"
    cmake -S "$tmp/acts" -B "$tmp/acts/build" >/dev/null 2>&1
}

# The files of the repository and what was built from them, with their times.
copy_tree()
{
    mkdir "$1"
    git ls-files -z --cached --others --exclude-standard |
        xargs -0 cp -p --parents -t "$1"
    mkdir -p "$1/build" "$1/lib"
    cp -rp "$build/obj" "$build/gen" "$build/examples" "$build/test" \
        "$1/build"
    cp -rp "$lib"/libexatrkx.* "$lib"/libexatrkx_dist.* "$1/lib"
}

for page in "$@"; do
    name=$(basename "$page" .md)
    reason=$(lacking "$name" || true)
    if [ -n "$reason" ]; then
        echo "SKIPPED how-to $name: $reason"
        [ $# -gt 1 ] || exit 77
        continue
    fi
    awk -f test/pages/script.awk "$page" >"$tmp/script"
    [ -s "$tmp/script" ] || { echo "$page: nothing to run" >&2; exit 1; }
    if [ "$name" = call-from-acts ] && ! has_acts; then
        export Acts_DIR="$PWD/bindings/acts/test/stand_in"
    fi
    copy_tree "$tmp/tree"
    if ! (cd "$tmp/tree" && sh -eu "$tmp/script") >"$tmp/log" 2>&1; then
        cat "$tmp/log" >&2
        echo "$page does not do what it says" >&2
        exit 1
    fi
    rm -rf "$tmp/tree"
    echo "how-to: $name"
done
