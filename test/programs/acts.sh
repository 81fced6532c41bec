#!/bin/sh
# Build the stages for ACTS against an installed copy and an installed ACTS
# (CMAKE_PREFIX_PATH, Acts_DIR), else a stand-in for its interface, and run
# their tests. $1, $2: the folders of the build and of the library; ETX_PRELOAD:
# with a library that checks it.
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
configure()
{
    cmake -S bindings/acts -B "$tmp/build" \
        -Dexatrkx_DIR="$tmp/exatrkx/lib/cmake/exatrkx" "$@" >"$tmp/log" 2>&1
}

stand_in=$PWD/bindings/acts/test/stand_in
found='the ACTS found here'
if ! configure ${Acts_DIR:+-DActs_DIR="$Acts_DIR"}; then
    grep -q 'provided by "Acts"' "$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
    found='a stand-in for ACTS, which was not found (Acts_DIR)'
    configure -DActs_DIR="$stand_in" ||
        { cat "$tmp/log" >&2; exit 1; }
fi
build()
{
    cmake --build "$tmp/build" >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
}

build
for name in pipeline modules; do
    LD_PRELOAD=${ETX_PRELOAD:-} "$tmp/build/test_$name" examples
done
# A shipped event is sorted by module: the same hits in the same order.
event=examples/data/event000000001
model=examples/models/default.safetensors
detectors=examples/data/detectors.csv.gz
LD_PRELOAD=${ETX_PRELOAD:-} "$tmp/build/find_tracks" $model cells with $event \
    $detectors "$tmp/acts.csv"
"$tmp/exatrkx/bin/etx-find-tracks" --model $model --event $event \
    --detector $detectors --out "$tmp/library.csv" >/dev/null
cmp "$tmp/acts.csv" "$tmp/library.csv"
echo "acts: the pipeline of $found"
# Tensors on a device: the stand-in over the emulation of CUDA.
device=$1/test/device/libexatrkx.so.0
[ -e "$device" ] || exit 0
cp "$device" "$(realpath "$tmp/exatrkx/lib/libexatrkx.so")"
rm -rf "$tmp/build"
configure -DActs_DIR="$stand_in" -DCMAKE_CXX_FLAGS=-DACTS_GNN_WITH_CUDA
build
for name in pipeline modules; do
    "$tmp/build/test_$name" examples device
done
