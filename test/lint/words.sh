#!/bin/sh
# The words of test/lint/words.txt do not occur in the tree. A line there is
# PATTERN | INSTEAD [| EXCEPT]: extended regular expressions, in any case; lines
# (PATH:NUMBER:TEXT) that match EXCEPT are allowed.
set -eu
if ! git ls-files --error-unmatch Makefile >/dev/null 2>&1; then
    echo 'SKIPPED words: no git'
    exit 0
fi
failed=0
while IFS='|' read -r pattern instead except; do
    case $pattern in '' | '#'*) continue ;; esac
    pattern=$(printf '%s' "$pattern" | tr '!' '|' | sed 's/ *$//')
    except=$(printf '%s' "${except:-}" | tr '!' '|' | sed 's/^ *//; s/ *$//')
    hits=$(git grep -inIE "$pattern" -- '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' \
        '*.hpp' '*.inl' '*.sh' '*.py' '*.mk' '*.md' Makefile ':!test/lint' |
        grep -viE "${except:-^$}" || true)
    [ -n "$hits" ] || continue
    failed=1
    echo "$hits" >&2
    printf '"%s": use%s\n' "$pattern" "$instead" >&2
done <test/lint/words.txt
[ $failed = 0 ] && echo 'words: none of test/lint/words.txt'
exit $failed
