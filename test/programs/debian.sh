#!/bin/sh
# Build the Debian packages from the sources, install them below a folder and
# find tracks with what is there. $1: a folder to leave them in, or none; it is made.
set -eu
if ! command -v dpkg-buildpackage >/dev/null 2>&1 ||
    ! dpkg-query -W debhelper dh-python >/dev/null 2>&1 ||
    ! git ls-files --error-unmatch Makefile >/dev/null 2>&1; then
    echo 'SKIPPED debian: no dpkg-buildpackage, debhelper, dh-python or git'
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/source" "$tmp/root"
git ls-files -z | xargs -0 cp --parents -t "$tmp/source"
cp -r docs/packaging/debian "$tmp/source/debian"
if ! (cd "$tmp/source" && DEB_BUILD_OPTIONS=parallel=2 \
    dpkg-buildpackage -b -us -uc -d) >"$tmp/log" 2>&1; then
    tail -40 "$tmp/log" >&2
    exit 1
fi
# As root with dpkg's own records; what they depend on is that of this machine,
# and the scripts of python3-exatrkx would compile it there, so it is unpacked.
# Other users unpack all.
install_packages()
{
    mkdir -p "$tmp/root/var/lib/dpkg/info" "$tmp/root/var/lib/dpkg/updates"
    touch "$tmp/root/var/lib/dpkg/status"
    set -- --root="$tmp/root" --force-depends --no-triggers \
        --force-script-chrootless --log="$tmp/dpkg"
    dpkg "$@" -i "$tmp"/libexatrkx0_*.deb "$tmp"/libexatrkx-dist0_*.deb \
        "$tmp"/libexatrkx-dev_*.deb "$tmp"/exatrkx-tools_*.deb \
        "$tmp"/exatrkx-tools-train_*.deb
    dpkg "$@" --unpack "$tmp"/python3-exatrkx_*.deb
    [ "$(dpkg "$@" -l | grep -c '^ii ')" = 5 ]
}

unpack_packages()
{
    for package in "$tmp"/*.deb; do
        dpkg-deb -x "$package" "$tmp/root"
    done
}

if [ "$(id -u)" = 0 ]; then
    how=installed
    install_packages >"$tmp/log" 2>&1 || { cat "$tmp/log" >&2; exit 1; }
else
    how=unpacked
    unpack_packages
fi
LD_LIBRARY_PATH=$(dirname "$tmp"/root/usr/lib/*/libexatrkx.so.0)
export LD_LIBRARY_PATH
event=$PWD/examples/data/event000000001
unset ETX_DATA ETX_LIBRARY
# From a folder that has no examples/: the model is that of the packages.
(cd "$tmp" && root/usr/bin/etx-find-tracks --event "$event" --out tracks.csv)
grep -q /usr/share/exatrkx "$tmp/root/usr/bin/etx-find-tracks"
# The flags of dpkg-buildflags arrive.
nm -D "$LD_LIBRARY_PATH/libexatrkx.so.0" | grep -q __snprintf_chk
[ "$(wc -l <"$tmp/tracks.csv")" -gt 100 ]
"$tmp/root/usr/bin/etx-train" --help >"$tmp/help"
if python3 -c 'import numpy' 2>/dev/null; then
    (cd "$tmp" && PATH="$tmp/root/usr/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$tmp/root/usr/lib/python3/dist-packages" \
        python3 - "$event") <<'PYTHON'
import sys
import exatrkx
from exatrkx import _programs
assert "root/usr/bin" in _programs.find("etx-find-tracks")
event = exatrkx.Event.from_trackml(sys.argv[1], detector=exatrkx.Detector.load())
exatrkx.find_tracks(exatrkx.Model.load(), event).write_csv("python.csv", event)
PYTHON
    cmp "$tmp/tracks.csv" "$tmp/python.csv"
    grep -qx '#! */usr/bin/python3' "$tmp/root/usr/bin/exatrkx"
    (cd "$tmp" && PATH="$tmp/root/usr/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$tmp/root/usr/lib/python3/dist-packages" \
        python3 root/usr/bin/exatrkx find-tracks --event "$event" --out command.csv)
    cmp "$tmp/tracks.csv" "$tmp/command.csv"
else
    echo 'SKIPPED the package of Python: no numpy'
fi
if [ $# -gt 0 ]; then
    mkdir -p "$1"
    cp "$tmp"/*.deb "$1"
fi
echo "debian: $(find "$tmp" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*' |
    wc -l) packages built and $how; their programs find tracks"
