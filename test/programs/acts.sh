#!/bin/sh
# Build the stages for ACTS against an installed copy and an installed ACTS
# (CMAKE_PREFIX_PATH, Acts_DIR), and run their test. $1, $2: the folders of the
# build and of the library; ETX_PRELOAD: with a library that checks it.
set -eu
if ! command -v cmake >/dev/null 2>&1 || ! command -v c++ >/dev/null 2>&1; then
    echo 'SKIPPED acts: no cmake or no C++ compiler'
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/copy"
cp -a "$2" "$tmp/lib"
cp -a "$1/obj" "$1/gen" "$1/examples" "$tmp/copy"
make --no-print-directory -s BUILD="$tmp/copy" LIB="$tmp/lib" install \
    PREFIX="$tmp/exatrkx" >/dev/null
if ! cmake -S bindings/acts -B "$tmp/build" \
    -Dexatrkx_DIR="$tmp/exatrkx/lib/cmake/exatrkx" \
    ${Acts_DIR:+-DActs_DIR="$Acts_DIR"} >"$tmp/log" 2>&1; then
    if grep -q 'provided by "Acts"' "$tmp/log"; then
        echo 'SKIPPED acts: no installed ACTS was found (Acts_DIR)'
        exit 77
    fi
    cat "$tmp/log" >&2
    exit 1
fi
if ! cmake --build "$tmp/build" >"$tmp/log" 2>&1; then
    cat "$tmp/log" >&2
    exit 1
fi
LD_PRELOAD=${ETX_PRELOAD:-} "$tmp/build/test_pipeline" examples
echo 'acts: the pipeline of the ACTS found here'
