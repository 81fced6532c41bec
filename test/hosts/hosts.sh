#!/bin/sh
# The library for other hosts: with musl, and for aarch64 under qemu's user
# emulation. It must build without warnings, shared too, and compute what it
# computes here.
# $1, $2: the folders of the build and of the library. ZLIB_AARCH64, ZLIB_MUSL:
# folders with include/ and lib/ (libz.a with -fPIC) where the compiler does not find
# zlib.
set -eu
build=$1
lib=$2
mkdir -p "$build/hosts"

# probe NAME BUILD LIB COMPILER ZLIB RUNNER...: link it and write what it prints.
probe()
{
    name=$1 objects=$2 archive=$3/libexatrkx.a compiler=$4 zlib=$5
    shift 5
    $compiler -static "$objects/obj/test/hosts/probe.o" "$archive" \
        ${zlib:+-L"$zlib/lib"} -lz -lpthread -lm -o "$objects/probe"
    "$@" "$objects/probe" examples/models/default.safetensors \
        examples/data/event000000001 examples/data/detectors.csv.gz \
        "$build/hosts/model" >"$build/hosts/$name.out"
}

# other NAME COMPILER ZLIB RUNNER...: build it and compare.
other()
{
    host=$1 with=$2 where=$3
    shift 3
    folder=$build/hosts/$host
    if ! echo '#include <zlib.h>
        int main(void) { return zlibVersion() == 0; }' |
        $with ${where:+-isystem "$where/include"} -x c - -static \
            ${where:+-L"$where/lib"} -lz -o "$folder.zlib" 2>/dev/null; then
        echo "SKIPPED hosts $host: no zlib for $with"
        return
    fi
    make --no-print-directory "-j$(nproc)" "CC=$with" MPI=0 WERROR=1 \
        "BUILD=$folder" "LIB=$folder/lib" OPTIMISE=-O1 \
        "CFLAGS=${where:+-isystem $where/include}" \
        "LDFLAGS=${where:+-L$where/lib}" lib "$folder/obj/test/hosts/probe.o" \
        >"$folder.log" 2>&1 || { tail -20 "$folder.log" && return 1; }
    probe "$host" "$folder" "$folder/lib" "$with" "$where" "$@"
    diff "$build/hosts/here.out" "$folder.out"
    echo "hosts: $host computes what this one does"
}

probe here "$build" "$lib" "${CC:-gcc}" ''
if command -v musl-gcc >/dev/null; then
    other musl musl-gcc "${ZLIB_MUSL:-}"
else
    echo 'SKIPPED hosts musl: no musl-gcc (musl-tools)'
fi
if command -v aarch64-linux-gnu-gcc >/dev/null &&
    command -v qemu-aarch64 >/dev/null; then
    other aarch64 aarch64-linux-gnu-gcc "${ZLIB_AARCH64:-}" qemu-aarch64
else
    echo 'SKIPPED hosts aarch64: no aarch64-linux-gnu-gcc and qemu-aarch64'
fi
