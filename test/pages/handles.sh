#!/bin/sh
# The pages of docs/handles: every handle of the libraries has one, every function
# that they export is on one, and their programs compile without a warning
# and run. $1: folder of the library.
set -eu
lib=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$PWD/examples" "$tmp/examples"

# shellcheck disable=SC2013
for handle in $(sed -n 's/^typedef struct etx_\([a-z_]*\) etx_\1;.*/\1/p' \
    include/exatrkx/*.h | sort -u); do
    [ -e "docs/handles/$handle.md" ] || {
        echo "no page docs/handles/$handle.md" >&2
        exit 1
    }
done
# shellcheck disable=SC2013
for symbol in $(sed -n '/global:/,/local:/s/^ *\(etx_[a-z0-9_]*\);.*/\1/p' \
    lib/exatrkx.map lib/exatrkx_dist.map); do
    grep -qw "$symbol" docs/handles/*.md || {
        echo "$symbol is on no page of docs/handles" >&2
        exit 1
    }
done
n_programs=0
for page in docs/handles/*.md; do
    name=$(basename "$page" .md)
    for word in Lifetime Threads Errors; do
        grep -q "^\*\*$word\.\*\*" "$page" || {
            echo "$page says nothing of: $word" >&2
            exit 1
        }
    done
    # shellcheck disable=SC2016
    sed -n '/^```c$/,/^```$/p' "$page" | sed '1d;$d' >"$tmp/$name.c"
    ${CC:-gcc} -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude \
        "$tmp/$name.c" -L"$lib" -Wl,--as-needed -lexatrkx_dist \
        -lexatrkx -lm -lpthread -Wl,-rpath,"$lib" \
        -o "$tmp/$name"
    (cd "$tmp" && "./$name" >"$name.out" 2>&1) || {
        echo "$page: the program fails" >&2
        cat "$tmp/$name.out" >&2
        exit 1
    }
    n_programs=$((n_programs + 1))
done
echo "handles: a page each, $n_programs programs built and run"
