#!/bin/sh
# The libraries in folder $1 have the structs and functions of each release in
# lib/abi (`make abi-baseline`), but for functions that were added and structs that
# grew (libabigail); the headers have its constants; nothing of a baseline was changed
# since it was added (git). That this notices a change is tried with a small library.
set -eu
constants='^#define ETX_[A-Z0-9_]+ +\(*-?(INT64_C|[0-9.])'
growing='ETX_(N_STAGES|MAX_|VALIDATION_)' # how many stages, bounds on work

# same_types BASELINE LIBRARY HEADERS. Descriptions are compared: next to a library, which
# defines the private structs, too, abidiff takes changes of the public ones for harmless.
same_types()
{
    test/lint/abi_write.sh "$2" "$3" "$tmp/today.abi"
    abidiff --suppr test/lint/abi_growth.ini --no-added-syms "$1" "$tmp/today.abi" &&
        # abi_growth.ini takes a field of another size for growth, too.
        ! abidiff --no-added-syms "$1" "$tmp/today.abi" |
        grep -B 20 -A 12 -E 'data member (change|deletion)'
}

# constants_of HEADERS: name and value, but for the version.
constants_of()
{
    grep -rhE "$constants" "$1" | grep -v ETX_VERSION_ |
        sed 's, */\*.*,,; s,^#define ,,' | tr -s ' ' | sort
}

# same_constants BASELINE HEADERS: each value of the release stands there, or a larger one
# of what may grow.
same_constants()
{
    constants_of "$1" >"$tmp/of-release"
    constants_of "$2" >"$tmp/of-today"
    awk -v growing="^$growing" '
        FNR == NR { today[$1] = $0; value[$1] = $2 + 0; next }
        today[$1] == $0 || ($1 ~ growing && value[$1] >= $2 + 0) { next }
        { print }
    ' "$tmp/of-today" "$tmp/of-release" >"$tmp/lost"
    [ -s "$tmp/of-release" ] && [ ! -s "$tmp/lost" ]
}

# unchanged REPOSITORY BASELINE: it is as the commit that added it had it.
unchanged()
{
    [ -n "$(git -C "$1" ls-tree HEAD "$2/" 2>/dev/null)" ] || return 0 # not added yet
    added=$(git -C "$1" log -1 --diff-filter=A --format=%h -- "$2/exatrkx.abi")
    git -C "$1" diff --quiet "$added" -- "$2"
}

# library NAME FIELDS VALUE: build one with a struct of these fields.
library()
{
    mkdir "$tmp/$1"
    echo "#define ETX_SOME $3 /* of them */
        typedef struct etx_some_options { $2 } etx_some_options;
        int etx_some(const etx_some_options *options);" >"$tmp/$1/some.h"
    echo '#include "some.h"
        int etx_some(const etx_some_options *options) { return options != 0; }' |
        ${CC:-gcc} -g -shared -fPIC -I"$tmp/$1" -x c - -o "$tmp/$1/some.so"
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
library release 'unsigned size; int a;' 5
library grown 'unsigned size; int a; int b;' 5
library inserted 'unsigned size; int b; int a;' 6
library changed 'unsigned size; long a;' 5
sed -i 's/^ *#/#/' "$tmp"/*/some.h
same_constants "$tmp/release" "$tmp/grown"
if same_constants "$tmp/release" "$tmp/inserted"; then
    echo 'a constant that changed was not noticed' >&2
    exit 1
fi
sed -i 's/ETX_SOME/ETX_MAX_SOME/' "$tmp/release/some.h" "$tmp/inserted/some.h"
same_constants "$tmp/release" "$tmp/inserted"
if same_constants "$tmp/inserted" "$tmp/release"; then
    echo 'a bound that shrank was not noticed' >&2
    exit 1
fi
mkdir -p "$tmp/git/0.1.0"
echo 1 >"$tmp/git/0.1.0/exatrkx.abi"
git -C "$tmp/git" init -q
git -C "$tmp/git" add 0.1.0
git -C "$tmp/git" -c user.name=some -c user.email=some commit -qm some
unchanged "$tmp/git" 0.1.0
echo 2 >"$tmp/git/0.1.0/exatrkx.abi"
git -C "$tmp/git" -c user.name=some -c user.email=some commit -qam other
if unchanged "$tmp/git" 0.1.0; then
    echo 'a baseline that changed was not noticed' >&2
    exit 1
fi
sed -n 's/^## \([0-9]*\.[0-9]*\.0\) .*/\1/p' CHANGELOG.md | while read -r version; do
    [ -e "lib/abi/$version" ] || { echo "no lib/abi/$version" >&2; exit 1; }
done
for folder in lib/abi/*/; do
    [ -e "$folder" ] || continue
    same_constants "$folder/exatrkx" include/exatrkx ||
        { echo "constants of $folder:" && cat "$tmp/lost"; exit 1; } >&2
    unchanged . "${folder%/}" ||
        { echo "$folder: it is of a release, and was changed" >&2; exit 1; }
done
if ! command -v abidiff >/dev/null 2>&1; then
    echo 'SKIPPED abi: no abidiff (abigail-tools)'
    exit 77
fi
test/lint/abi_write.sh "$tmp/release/some.so" "$tmp/release" "$tmp/some.abi"
same_types "$tmp/some.abi" "$tmp/grown/some.so" "$tmp/grown" >"$tmp/log" ||
    { cat "$tmp/log" && exit 1; } >&2
for other in inserted changed; do
    if same_types "$tmp/some.abi" "$tmp/$other/some.so" "$tmp/$other" >"$tmp/log"; then
        echo "a struct with a field $other was not noticed" >&2
        exit 1
    fi
done
if [ ! -e lib/abi ]; then
    echo 'abi: changes of a small library are noticed'
    echo 'SKIPPED abi of a release: no release yet'
    exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "SKIPPED abi: the baseline is of x86-64, not $(uname -m)"
    exit 77
fi
for baseline in lib/abi/*/*.abi; do
    library=$1/lib$(basename "$baseline" .abi).so
    same_types "$baseline" "$library" include >"$tmp/log" ||
        { cat "$tmp/log" && exit 1; } >&2
    echo "$library: the structs and functions of $baseline"
done
