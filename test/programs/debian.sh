#!/bin/sh
# Build the Debian packages from the sources and look into them. $1: a folder
# to leave them in, or none.
set -eu
if ! command -v dpkg-buildpackage >/dev/null 2>&1 ||
    ! dpkg-query -W debhelper dh-python >/dev/null 2>&1; then
    echo 'SKIPPED debian: no dpkg-buildpackage, debhelper or dh-python'
    exit 0
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/source" "$place/root"
git ls-files -z | xargs -0 cp --parents -t "$place/source"
cp -r docs/packaging/debian "$place/source/debian"
if ! (cd "$place/source" && DEB_BUILD_OPTIONS=parallel=2 \
    dpkg-buildpackage -b -us -uc -d) >"$place/log" 2>&1; then
    tail -40 "$place/log" >&2
    exit 1
fi
for name in libexatrkx0 libexatrkx-dist0 libexatrkx-dev exatrkx-tools \
    exatrkx-tools-dist python3-exatrkx; do
    dpkg-deb -x "$place/${name}_"*.deb "$place/root"
done
LD_LIBRARY_PATH=$(dirname "$place"/root/usr/lib/*/libexatrkx.so.0)
export LD_LIBRARY_PATH
export ETX_DATA="$place/root/usr/share/exatrkx"
"$place/root/usr/bin/etx-find-tracks" --event examples/data/event000000001 \
    --out "$place/tracks.csv"
[ "$(wc -l <"$place/tracks.csv")" -gt 100 ]
"$place/root/usr/bin/etx-train-distributed" --help >"$place/help"
if [ $# -gt 0 ]; then
    cp "$place"/*.deb "$1"
fi
echo "debian: $(find "$place" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*' |
    wc -l) packages built; their program finds tracks"
