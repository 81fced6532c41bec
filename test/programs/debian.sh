#!/bin/sh
# Build the Debian packages from the sources, install them below a folder and
# find tracks with what is there. $1: a folder to leave them in, or none.
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
# As root with dpkg's own records; what they depend on is that of this machine,
# and the scripts of python3-exatrkx would compile it there, so it is unpacked.
# Other users unpack all.
install_packages()
{
    mkdir -p "$place/root/var/lib/dpkg/info" "$place/root/var/lib/dpkg/updates"
    touch "$place/root/var/lib/dpkg/status"
    set -- --root="$place/root" --force-depends --no-triggers \
        --force-script-chrootless --log="$place/dpkg"
    dpkg "$@" -i "$place"/libexatrkx0_*.deb "$place"/libexatrkx-dist0_*.deb \
        "$place"/libexatrkx-dev_*.deb "$place"/exatrkx-tools_*.deb \
        "$place"/exatrkx-tools-dist_*.deb
    dpkg "$@" --unpack "$place"/python3-exatrkx_*.deb
    [ "$(dpkg "$@" -l | grep -c '^ii ')" = 5 ]
}

unpack_packages()
{
    for package in "$place"/*.deb; do
        dpkg-deb -x "$package" "$place/root"
    done
}

if [ "$(id -u)" = 0 ]; then
    how=installed
    install_packages >"$place/log" 2>&1 || { cat "$place/log" >&2; exit 1; }
else
    how=unpacked
    unpack_packages
fi
LD_LIBRARY_PATH=$(dirname "$place"/root/usr/lib/*/libexatrkx.so.0)
export LD_LIBRARY_PATH
export ETX_DATA="$place/root/usr/share/exatrkx"
"$place/root/usr/bin/etx-find-tracks" --event examples/data/event000000001 \
    --out "$place/tracks.csv"
[ "$(wc -l <"$place/tracks.csv")" -gt 100 ]
"$place/root/usr/bin/etx-train-distributed" --help >"$place/help"
if python3 -c 'import numpy' 2>/dev/null; then
    (unset ETX_LIBRARY ETX_DATA && PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$place/root/usr/lib/python3/dist-packages" \
        python3 -m exatrkx find-tracks --event examples/data/event000000001 \
        --out "$place/python.csv")
    cmp "$place/tracks.csv" "$place/python.csv"
else
    echo 'SKIPPED the package of Python: no numpy'
fi
if [ $# -gt 0 ]; then
    cp "$place"/*.deb "$1"
fi
echo "debian: $(find "$place" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*' |
    wc -l) packages built and $how; their programs find tracks"
