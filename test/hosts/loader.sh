#!/bin/sh
# Copies of the library side by side in one process, one of them linked
# statically, and a library that is opened and closed many times. $1, $2: the
# folders of the build and of the library; $3: how many times (100).
set -eu
build=$1
lib=$(cd "$2" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for name in exatrkx exatrkx_dist; do
    if readelf -rW "$lib/lib$name.so.0" | grep '@@ETX'; then
        echo "lib$name.so calls these of any library that comes first" >&2
        exit 1
    fi
done

# A second file is a second library.
cp "$lib/libexatrkx.so.0" "$out/libexatrkx.so.1"
${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -Iinclude \
    test/hosts/loader.c -rdynamic -Wl,--whole-archive "$lib/libexatrkx.a" \
    -Wl,--no-whole-archive -lz -lpthread -lm -ldl -o "$build/test/loader"
"$build/test/loader" "${3:-100}" "$lib/libexatrkx.so.0" "$out/libexatrkx.so.1"
