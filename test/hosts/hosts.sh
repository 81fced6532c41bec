#!/bin/sh
# The library for other hosts: with musl, and for aarch64 under qemu's user
# emulation. It must build without warnings, shared too, and compute what it
# computes here; its operators pass their suites where Check is given.
# $1, $2: the folders of the build and of the library. LIBRARIES_AARCH64,
# LIBRARIES_MUSL: folders with include/ and lib/ where the compiler does not find
# zlib (libz.a with -fPIC), and of Check (libcheck.a, libsubunit.a). Where libc6:arm64 is
# installed, qemu would take its libraries with the loader of the cross compiler, and hang.
set -eu
build=$1
lib=$2
mkdir -p "$build/hosts"

# probe NAME BUILD LIB COMPILER LIBRARIES RUNNER...: link it and write what it prints.
probe()
{
    name=$1 objects=$2 archive=$3/libexatrkx.a compiler=$4 where=$5
    shift 5
    $compiler -static "$objects/obj/test/hosts/probe.o" "$archive" \
        ${where:+-L"$where/lib"} -lz -lpthread -lm -o "$objects/probe"
    "$@" "$objects/probe" examples/models/default.safetensors \
        examples/data/event000000001 examples/data/detectors.csv.gz \
        "$build/hosts/model" >"$build/hosts/$name.out"
}

# operators PROGRAM RUNNER...: the suites of the operators.
operators()
{
    tests=$1
    shift
    for suite in $("$@" "$tests" --list | grep '^checkop_'); do
        CK_FORK=no CK_RUN_SUITE=$suite CK_EXCLUDE_TAGS=slow "$@" "$tests"
    done
}

# other NAME COMPILER LIBRARIES FLAGS RUNNER...: build it and compare.
other()
{
    host=$1 with=$2 where=$3 flags=$4
    shift 4
    folder=$build/hosts/$host
    if ! echo '#include <zlib.h>
        int main(void) { return zlibVersion() == 0; }' |
        $with ${where:+-isystem "$where/include"} -x c - -static \
            ${where:+-L"$where/lib"} -lz -o "$folder.zlib" 2>/dev/null; then
        echo "SKIPPED hosts $host: no zlib for $with"
        return
    fi
    tests=$folder/test/exatrkx-tests
    [ -n "$where" ] && [ -f "$where/lib/libcheck.a" ] || tests=
    # shellcheck disable=SC2086 # none, or one
    make --no-print-directory "-j$(nproc)" "CC=$with" MPI=0 WERROR=1 \
        "BUILD=$folder" "LIB=$folder/lib" OPTIMISE=-O1 \
        "CFLAGS=$flags ${where:+-isystem $where/include}" \
        "LDFLAGS=${where:+-L$where/lib}" \
        LDLIBS_CHECK='-lcheck -lsubunit -lrt' \
        lib "$folder/obj/test/hosts/probe.o" $tests \
        >"$folder.log" 2>&1 || { tail -20 "$folder.log" && return 1; }
    probe "$host" "$folder" "$folder/lib" "$with" "$where" "$@"
    diff "$build/hosts/here.out" "$folder.out"
    echo "hosts: $host computes what this one does"
    if [ -n "$tests" ]; then
        operators "$tests" "$@"
    else
        echo "SKIPPED hosts $host: no Check for its suites"
    fi
}

probe here "$build" "$lib" "${CC:-gcc}" ''
if command -v musl-gcc >/dev/null; then
    other musl musl-gcc "${LIBRARIES_MUSL:-}" "-include $PWD/test/hosts/traps.h"
else
    echo 'SKIPPED hosts musl: no musl-gcc (musl-tools)'
fi
if [ -e /lib/aarch64-linux-gnu/libc.so.6 ]; then
    echo 'SKIPPED hosts aarch64: libc6:arm64 is installed'
elif command -v aarch64-linux-gnu-gcc >/dev/null &&
    command -v qemu-aarch64 >/dev/null; then
    other aarch64 aarch64-linux-gnu-gcc "${LIBRARIES_AARCH64:-}" '' \
        qemu-aarch64 -L /usr/aarch64-linux-gnu
else
    echo 'SKIPPED hosts aarch64: no aarch64-linux-gnu-gcc and qemu-aarch64'
fi
