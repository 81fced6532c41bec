#!/bin/sh
# An upgrade of the shared library under a host that is not compiled again, and
# a host that is newer than the library: every struct of options and every report
# of libexatrkx, both ways. The later library is this one built with headers whose
# structs have grown. Hosts of each release in lib/abi, compiled against its
# headers, run on the library of today, which reads its model and checkpoint and has
# its defaults; a host whose headers have a field that is not at the end must not
# pass. $1, $2: folders of the build and the library.
set -eu
build=$1
lib=$(cd "$2" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/include/exatrkx" "$out/lib" "$out/obj" "$out/broken/exatrkx"
for header in include/exatrkx/[!d]*.h; do
    awk -f test/upgrade/grow.awk "$header" \
        >"$out/include/exatrkx/$(basename "$header")"
done
sized='etx_([a-z_]*_(options|report|timing|counts)|evaluation)'
n_sized=$(cat include/exatrkx/[!d]*.h | grep -cE "^} $sized;")
n_grown=$(cat "$out"/include/exatrkx/*.h | grep -c '^    int64_t newer;')
n_used=$(grep -cE "^ +$sized (options|report)( =.*)?;" test/upgrade/caller.c)
if [ "$n_sized" != "$n_grown" ] || [ "$n_sized" != "$n_used" ]; then
    echo "$n_sized structs, $n_grown grew, $n_used are used" >&2
    exit 1
fi

# build_caller NAME SOURCE INCLUDE FLAGS...: a host, against these headers.
build_caller()
{
    name=$1
    source=$2
    headers=$3
    shift 3
    ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -I"$headers" "$@" "$source" \
        -L"$lib" -lexatrkx -o "$out/$name"
}

# call NAME LIBRARY [set]: its output in NAME.out, its exit code in $code.
call()
{
    code=0
    LD_LIBRARY_PATH="$2" timeout 100 "$out/$1" \
        examples/models/default.safetensors examples/data/event000000001 \
        examples/data/detectors.csv.gz "${3:-}" >"$out/$1.out" || code=$?
}

# read_files RELEASE LIBRARY: its model and checkpoint are read, and the library has its
# defaults. The program is $out/files, against the headers of the release.
read_files()
{
    LD_LIBRARY_PATH="$2" "$out/files" read "$1" >"$out/defaults"
    if ! diff "$1/defaults" "$out/defaults" >&2; then
        echo "$1: the defaults of options were others (byte of the struct: value)" >&2
        exit 1
    fi
}

# The objects of the build below the structs, but none that a source has left
# over.
objects_of_sources()
{
    find src/op src/base src/stage/first_pass/simd lib -name '*.c' | while read -r source; do
        stem=${source#src/}
        stem=${stem%.c}
        for object in "$build/obj/$stem.o" "$build"/obj/avx*/"$stem.o"; do
            [ ! -e "$object" ] || echo "$object"
        done
    done
}

# Only what sees the structs is compiled again, and without optimisation: the
# operators, what is below them and vector code come from the build.
build_later_library()
{
    if grep -rE "$sized" src/op src/base src/stage/first_pass/simd | grep -v '/\*.*\*/'; then
        echo 'these see the structs, too' >&2
        exit 1
    fi
    find src "$build/gen" -name '*.c' ! -path 'src/op/*' ! -path 'src/base/*' \
        ! -path '*/simd/*' ! -path 'src/dist/*' >"$out/sources"
    export out
    # shellcheck disable=SC2016
    xargs -n 8 -P 2 sh -eu -c 'for source in "$@"; do
        ${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -fPIC \
            -ffp-contract=off -fvisibility=hidden -I"$out/include" -Isrc \
            -c "$source" -o "$out/obj/$(echo "$source" | tr / _).o"
        done' compile <"$out/sources"
    objects_of_sources >"$out/objects"
    wrap=
    [ ! -e "$build/obj/lib/glibc_names.o" ] || wrap=-Wl,--wrap=hypot
    # The list is meant to split into words.
    # shellcheck disable=SC2046,SC2086
    ${CC:-gcc} -shared "$out"/obj/*.o $(cat "$out/objects") $wrap \
        -Wl,--version-script=lib/exatrkx.map -Wl,-soname,libexatrkx.so.0 \
        -lz -lpthread -lm -o "$out/lib/libexatrkx.so.0"
}

# expect NAME WHAT: it ran and said what today's caller says to this library.
expect()
{
    if [ "$code" != 0 ] || ! cmp "$out/$1.out" "$out/expected"; then
        echo "$2 caller is not served" >&2
        cat "$out/$1.out" >&2
        exit 1
    fi
}

build_caller caller test/upgrade/caller.c include
build_caller newer test/upgrade/caller.c "$out/include" -DNEWER
call caller "$lib"
cp "$out/caller.out" "$out/expected"
expect caller "today's"

n_releases=0
for release in lib/abi/*/; do
    [ -e "$release" ] || continue
    build_caller release "$release/caller.c" "$release"
    call release "$lib"
    [ "$code" = 0 ] || { cat "$out/release.out" >&2; exit 1; }
    build_caller files "$release/files.c" "$release"
    read_files "$release" "$lib"
    n_releases=$((n_releases + 1))
done
for header in include/exatrkx/[!d]*.h; do
    awk -v inserted=1 -f test/upgrade/grow.awk "$header" \
        >"$out/broken/exatrkx/$(basename "$header")"
done
build_caller misplaced test/upgrade/caller.c "$out/broken"
call misplaced "$lib"
if [ "$code" = 0 ] && cmp -s "$out/misplaced.out" "$out/expected"; then
    echo 'a field before others was not noticed' >&2
    exit 1
fi

call newer "$lib"
expect newer 'a newer'
call newer "$lib" set
if [ "$code" != 7 ] ||
    [ "$(grep -c 'a newer library' "$out/newer.out")" != 7 ]; then
    echo 'a newer field was not refused' >&2
    cat "$out/newer.out" >&2
    exit 1
fi

build_later_library
call caller "$out/lib"
expect caller 'an older'
call newer "$out/lib" set
[ "$code" = 0 ] || { cat "$out/newer.out" >&2; exit 1; }
build_caller files test/upgrade/files.c include
mkdir "$out/written"
LD_LIBRARY_PATH="$lib" "$out/files" write "$out/written" >"$out/written/defaults"
read_files "$out/written" "$out/lib"
echo "upgrade: older and newer callers are served, $n_sized structs;" \
    "hosts of $n_releases releases run, and their files are read"
[ "$n_releases" -gt 0 ] || echo 'SKIPPED upgrade of a release: no release yet'
