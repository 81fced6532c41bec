#!/bin/sh
# Install the Debian packages that are missing of those named: as root or with
# sudo without a password; otherwise print the one command and stop. Without dpkg
# say what is needed.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "no dpkg: needed is what Debian has in $*" >&2
    exit 0
fi
missing=
for package in "$@"; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) in
    *'ok installed') ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

command="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo='sudo -n'
else
    echo "Missing:$missing. Install with:" >&2
    echo "    sudo $command" >&2
    exit 2
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# Words of $command and $sudo are meant to split.
# shellcheck disable=SC2086
{ $sudo apt-get update -q && $sudo $command -q; } >build-setup.log 2>&1 ||
    { cat build-setup.log >&2; rm -f build-setup.log; exit 2; }
rm -f build-setup.log
