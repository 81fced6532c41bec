#!/bin/sh
# Every public header compiles alone, without a warning, as C99, C11 and (with
# a C++ compiler) C++11. The header for C++ does as C++17 and C++20, and its test
# runs: objects.cpp, with the library in the folder $1 (default lib) and, with
# arrays on a device, over the emulation of CUDA in the folder $2 (build).
set -eu

# check COMPILER STANDARD LANGUAGE HEADER
check()
{
    printf '#include <exatrkx/%s>\nextern int after_the_header;\n' "$4" |
        $1 -std="$2" -Wall -Wextra -Wpedantic -Werror -Iinclude -x "$3" \
            -fsyntax-only -
}

for header in include/exatrkx/*.h; do
    name=$(basename "$header")
    check "${CC:-gcc}" c99 c "$name"
    check "${CC:-gcc}" c11 c "$name"
    if command -v g++ >/dev/null 2>&1; then
        check g++ c++11 c++ "$name"
    fi
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lib=${1:-lib}
device=${2:-build}/test/device
for cxx in g++ clang++; do
    command -v "$cxx" >/dev/null 2>&1 || continue
    check "$cxx" c++17 c++ exatrkx.hpp
    check "$cxx" c++20 c++ exatrkx.hpp
    $cxx -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        -Iinclude test/header/objects.cpp -o "$tmp/objects" -L"$lib" -lexatrkx \
        -Wl,-rpath,"$(realpath "$lib")"
    "$tmp/objects" examples/models examples/data
    [ ! -e "$device/libexatrkx.so.0" ] || LD_LIBRARY_PATH=$device \
        "$tmp/objects" examples/models examples/data device
done
command -v g++ >/dev/null 2>&1 || echo 'SKIPPED headers as C++: no g++'
echo 'headers: each compiles alone'
