#!/bin/sh
# Install into an empty prefix, move it, and build the program of README.md
# against it with pkg-config alone.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

make --no-print-directory -s install PREFIX=/usr DESTDIR="$place/root" \
    >/dev/null
# shellcheck disable=SC2016
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$place/program.c"
export PKG_CONFIG_PATH="$place/root/usr/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$place/root"
[ "$(pkg-config --modversion exatrkx)" = "$(sed -n \
    's/.*VERSION_[A-Z]* //p' include/exatrkx/version.h | paste -sd.)" ]
# The flags are meant to split into words.
# shellcheck disable=SC2046
${CC:-gcc} -std=c11 -Wall -Wextra -Werror "$place/program.c" \
    $(pkg-config --cflags --libs exatrkx) -o "$place/program"
export LD_LIBRARY_PATH="$place/root/usr/lib"
"$place/program" examples/models/default.safetensors \
    examples/data/event000000001 examples/data/detectors.csv.gz >"$place/out"
grep -Eq '^[1-9][0-9]* tracks$' "$place/out"
"$place/root/usr/bin/etx-find-tracks" --help >/dev/null
echo 'install: README.md program built by pkg-config and run'
