#!/bin/sh
# Install into an empty prefix, move it, and build the program of README.md
# against it: with pkg-config, and with CMake as C and as C++. Every program has
# its manual page. $1, $2: the folders of the build and of the library, which are
# copied, since another DATADIR links the programs again and other tests run them.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/build"
cp -a "$2" "$tmp/lib"
cp -a "$1/obj" "$1/gen" "$1/examples" "$tmp/build"
version=$(sed -n 's/.*VERSION_[A-Z]* //p' include/exatrkx/version.h |
    paste -sd.)

# build TARGET...: of the copy.
build()
{
    make --no-print-directory -s BUILD="$tmp/build" LIB="$tmp/lib" "$@" >/dev/null
}

# run PROGRAM: it finds tracks in a shipped event.
run()
{
    "$1" examples/models/default.safetensors examples/data/event000000001 \
        examples/data/detectors.csv.gz >"$tmp/out"
    grep -Eq '^[1-9][0-9]* tracks$' "$tmp/out"
}

build install PREFIX=/usr DESTDIR="$tmp/first"
mv "$tmp/first" "$tmp/root"
# shellcheck disable=SC2016
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$tmp/program.c"
export PKG_CONFIG_PATH="$tmp/root/usr/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$tmp/root"
[ "$(pkg-config --modversion exatrkx)" = "$version" ]
# The flags are meant to split into words.
# shellcheck disable=SC2046
${CC:-gcc} -std=c11 -Wall -Wextra -Werror "$tmp/program.c" \
    $(pkg-config --cflags --libs exatrkx) -o "$tmp/program"
export LD_LIBRARY_PATH="$tmp/root/usr/lib"
run "$tmp/program"
# From a folder that has no examples/: the model is that of the moved prefix.
event=$PWD/examples/data/event000000001
(cd "$tmp" && unset ETX_DATA &&
    root/usr/bin/etx-find-tracks --event "$event" --out moved.csv >/dev/null)
[ "$(wc -l <"$tmp/moved.csv")" -gt 100 ]
for program in "$tmp"/root/usr/bin/etx-*; do
    page=$tmp/root/usr/share/man/man1/$(basename "$program").1
    [ "$("$program" --help | grep -c '^  --')" -eq \
        "$(grep -c '^\.B \\-\\-' "$page")" ]
    grep -q '^\.B ETX_PRECISION' "$page"
    # An example, of options that the program has.
    example=$(sed -n '/^\.SH EXAMPLES/ { n; s/\\-/-/gp; }' "$page")
    for word in $example; do
        case $word in --*) "$program" --help | grep -q "^  $word " ;; esac
    done
    [ "${example%% --*}" = "$(basename "$program")" ]
done
# Every library that a file needs, and every file of data, is in the bill of materials.
if command -v python3 >/dev/null 2>&1; then
    build sbom
    for soname in $(readelf -d "$tmp"/lib/libexatrkx*.so.0 "$tmp"/build/examples/etx-* |
        sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort -u); do
        file=$(ldconfig -p | awk -v name="$soname" '$1 == name { print $NF; exit }')
        [ -n "$file" ] || continue # ours
        package=$(dpkg -S "$(realpath "$file")" "$(realpath "$file" | sed s,/usr,,)" \
            2>/dev/null | sed 's/:.*//' | head -1)
        grep -q "\"name\": \"${package:-$soname}\"" "$tmp/build/sbom.spdx.json"
    done
    for file in "$tmp"/root/usr/share/exatrkx/*/*; do
        grep -q "\"fileName\": \"${file##*/}\"" "$tmp/build/sbom.spdx.json"
    done
    python3 docs/packaging/sbom.py 0 --static=cudart_static examples/data/detectors.csv.gz |
        grep -q '"relationshipType": "STATIC_LINK"'
else
    echo 'SKIPPED bill of materials: no python3'
fi
# A GPU's libraries are told to those who link the archive.
# shellcheck disable=SC2016
make -s CUDA=1 --eval='pc: ; @$(FILL_IN) pkgconfig/exatrkx.pc.in' pc |
    grep -q '^Libs.private: .* -lcudart_static '
# Programs look where the library and the data are installed, not at a library of
# the folder above, and removing them leaves what others have there.
mkdir "$tmp/lib64"
touch "$tmp/lib64/libexatrkx.so.0"
build install PREFIX="$tmp/own" LIBDIR="$tmp/own/lib64" DATADIR="$tmp/shared"
echo theirs >"$tmp/shared/theirs"
mkdir "$tmp/empty"
(cd "$tmp/empty" && unset ETX_DATA LD_LIBRARY_PATH &&
    "$tmp/own/bin/etx-find-tracks" --event "$event" --out there.csv >/dev/null)
cmp "$tmp/moved.csv" "$tmp/empty/there.csv"
build uninstall PREFIX="$tmp/own" LIBDIR="$tmp/own/lib64" DATADIR="$tmp/shared"
[ "$(find "$tmp/shared" "$tmp/own" -type f)" = "$tmp/shared/theirs" ]
# The same without the root's name: the prefix itself was moved.
unset PKG_CONFIG_SYSROOT_DIR
# shellcheck disable=SC2046
${CC:-gcc} -std=c11 "$tmp/program.c" $(pkg-config --cflags --libs exatrkx) \
    -o "$tmp/program"
run "$tmp/program"
cat >"$tmp/ranks.c" <<'END'
#include <exatrkx/dist.h>

int main(void)
{
    etx_dist *dist[2];

    if (etx_dist_open_threads(dist, 2, NULL) != ETX_OK)
        return 1;
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
    return 0;
}
END
# shellcheck disable=SC2046
${CC:-gcc} -std=c11 -Wall -Wextra -Werror "$tmp/ranks.c" \
    $(pkg-config --cflags --libs exatrkx-dist) -o "$tmp/ranks"
"$tmp/ranks"
echo 'install: README.md program built by pkg-config and run'

if ! command -v cmake >/dev/null 2>&1 || ! command -v c++ >/dev/null 2>&1; then
    echo 'SKIPPED find_package(exatrkx): no cmake or no C++ compiler'
    exit 0
fi
cp "$tmp/program.c" "$tmp/program.cpp"
cat >"$tmp/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
find_package(exatrkx $version REQUIRED)
find_package(exatrkx 99 QUIET)
if(exatrkx_FOUND)
    message(FATAL_ERROR "version 99 was found")
endif()
find_package(exatrkx REQUIRED COMPONENTS dist)
add_executable(ranks ranks.c)
target_link_libraries(ranks exatrkx::dist)
add_executable(from_c program.c)
add_executable(from_cpp program.cpp)
foreach(program from_c from_cpp)
    target_link_libraries(\${program} exatrkx::exatrkx)
endforeach()
EOF
if ! { cmake -S "$tmp" -B "$tmp/cmake" \
    -DCMAKE_PREFIX_PATH="$tmp/root/usr" &&
    cmake --build "$tmp/cmake"; } >"$tmp/log" 2>&1; then
    cat "$tmp/log" >&2
    exit 1
fi
unset LD_LIBRARY_PATH
"$tmp/cmake/ranks"
run "$tmp/cmake/from_c"
run "$tmp/cmake/from_cpp"
echo 'install: the same through find_package(exatrkx), as C and as C++'
