#!/bin/sh
# Provoke every error and warning of docs/troubleshooting.md with the command above it: the
# last line that it writes to stderr is the text of the page. $1, $2: folders of
# the build and the library.
set -eu
page=docs/troubleshooting.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
ln -s "$PWD/examples" "$tmp/examples"
export PATH="$PWD/$1/examples:$PATH" PYTHONPATH="$PWD/bindings/python" LC_ALL=C
export ETX_LIBRARY="$PWD/$2/libexatrkx.so" PYTHONDONTWRITEBYTECODE=1
# shellcheck disable=SC2016
sed -n '/^```console$/,/^```$/{/^```/!p;}' "$page" >"$tmp/blocks"
has_numpy=no
if python3 -c 'import numpy' 2>/dev/null; then
    has_numpy=yes
else
    echo 'SKIPPED errors of Python: no numpy'
fi

# The text of the page as a pattern of the shell.
pattern_of()
{
    printf '%s' "$1" | sed 's/[][*?\\]/\\&/g; s/\.\.\./*/g'
}

# compare TEXT: the last command ended in it, and failed, unless it is a warning.
compare()
{
    got=$(tail -n 1 "$tmp/stderr")
    # shellcheck disable=SC2254
    case $got in
    $(pattern_of "$1")) ;;
    *)
        printf '%s: %s\n  the page says: %s\n  it says: %s\n' "$page" \
            "$command" "$1" "$got" >&2
        exit 1
        ;;
    esac
    case $1 in
    *': warning: '*) [ "$code" = 0 ] ;;
    *) [ "$code" != 0 ] ;;
    esac || { echo "$page: exit status $code: $command" >&2; exit 1; }
}

n_errors=0
is_run=no
while IFS= read -r line; do
    case $line in
    '$ '*)
        command=${line#??}
        is_run=yes
        case $command in
        *python3\ *) is_run=$has_numpy ;;
        esac
        [ $is_run = yes ] || continue
        code=0
        (cd "$tmp" && sh -c "$command" >stdout 2>stderr </dev/null) || code=$?
        ;;
    *)
        [ $is_run = yes ] || continue
        compare "$line"
        n_errors=$((n_errors + 1))
        ;;
    esac
done <"$tmp/blocks"
[ $n_errors -gt 0 ] || { echo "$page: no error was found" >&2; exit 1; }
echo "troubleshooting: $n_errors errors say what the page says"
