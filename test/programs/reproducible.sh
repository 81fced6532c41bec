#!/bin/sh
# Two builds of the library in folders of other names, with other numbers of
# jobs, languages and times of day, have the same bytes.
set -eu
commit=$(git rev-parse HEAD)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# build NAME JOBS LANGUAGE ZONE: a copy of the commit, built.
build()
{
    mkdir -p "$out/$1"
    git archive "$commit" | tar -x -C "$out/$1"
    env -u MAKEFLAGS -u MFLAGS CCACHE_DISABLE=1 "LC_ALL=$3" "TZ=$4" make \
        --no-print-directory -C "$out/$1" "-j$2" MPI=0 \
        CFLAGS="-ffile-prefix-map=$out/$1=." lib >"$out/log" 2>&1 ||
        { tail -20 "$out/log" && exit 1; }
}

build one 1 C UTC
build another "$(nproc)" C.UTF-8 Asia/Tokyo
for file in libexatrkx.so.0 libexatrkx.a libexatrkx_dist.so.0 libexatrkx_dist.a; do
    cmp "$out/one/lib/$file" "$out/another/lib/$file"
    sha256sum <"$out/one/lib/$file" | sed "s|-|$file|"
done
echo 'reproducible: two builds have the same bytes'
