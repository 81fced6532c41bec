#!/bin/sh
# The commands of README.md in Debian 12 and 13 with nothing but git, make and gcc.
# Another user than root is told what to install; root gets it installed by the first
# command; then the other user runs them all. No compiler may warn. As root, with
# debootstrap and a network. $@: the targets, by default the two of README.md. SUITES: the
# systems. ARCH: their architecture, which this machine runs by itself or by qemu.
set -eu
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
    echo 'SKIPPED roots: not root, or no debootstrap'
    exit 0
fi
[ $# -gt 0 ] || set -- demo check
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# in_root COMMAND...: with a /proc that goes with the command.
in_root()
{
    unshare --mount --pid --fork --mount-proc="$root/proc" \
        chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# as USER COMMAND: in the sources.
as()
{
    in_root su "$1" -s /bin/sh -c "cd /home/other/libexatrkx && $2" >"$tmp/log" 2>&1
}

failed()
{
    tail -40 "$tmp/log" >&2
    echo "roots: $1" >&2
    exit 1
}

# run USER TARGET: it is done, and no compiler warns.
run()
{
    as "$1" "make -j$(nproc) $2" || failed "$suite, $1: make $2"
    ! grep -q 'warning:' "$tmp/log" || failed "$suite, $1: make $2 warns"
}

for suite in ${SUITES:-bookworm trixie}; do
    root=$tmp/$suite
    debootstrap ${ARCH:+--arch="$ARCH"} --variant=minbase \
        --include=git,make,gcc,ca-certificates "$suite" "$root" >"$tmp/log" 2>&1 ||
        failed "debootstrap $suite"
    in_root useradd -m other
    git clone -q --no-hardlinks . "$root/home/other/libexatrkx"
    in_root chown -R other: /home/other
    if as other 'make demo' || ! grep -q 'sudo apt-get install' "$tmp/log"; then
        failed "$suite: a user without the packages is not told which"
    fi
    in_root git config --system safe.directory /home/other/libexatrkx
    run root "$1"
    in_root chown -R other: /home/other
    for target in "$@"; do
        run other "$target"
    done
    compiler=$(in_root gcc -dumpfullversion)
    rm -rf "$root"
    echo "roots: $suite${ARCH:+, $ARCH}, gcc $compiler: make $1 as root, make $* as another user"
done
