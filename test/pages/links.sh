#!/bin/sh
# Every relative link of the pages leads to a file and, with an anchor, to a
# heading; every source file that a page names in code type exists; the manual
# lists every page of docs/.
set -eu
if ! git ls-files --error-unmatch Makefile >/dev/null 2>&1; then
    echo 'SKIPPED links: no git'
    exit 77
fi

# The headings of page $1 as anchors.
anchors()
{
    sed -n 's/^#\{1,\} //p' "$1" | tr '[:upper:] ' '[:lower:]-' |
        sed 's/[^a-z0-9_-]//g'
}

n_links=0
for page in $(git ls-files '*.md'); do
    text=$(awk '/^```/ { code = !code } !code' "$page")
    links=$(echo "$text" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' |
        grep -vE '^[a-z]+:' || true)
    for link in $links; do
        file=$(dirname "$page")/${link%%#*}
        [ -n "${link%%#*}" ] || file=$page
        [ -e "$file" ] || { echo "$page: no file $link" >&2; exit 1; }
        case $link in
        *'#'*) anchors "$file" | grep -qx -- "${link#*#}" ||
            { echo "$page: no heading $link" >&2; exit 1; } ;;
        esac
        n_links=$((n_links + 1))
    done
    case $page in docs/howto/add-*) continue ;; esac
    # shellcheck disable=SC2016
    for file in $(echo "$text" | grep -oE \
        '`(src|cuda|test|docs|include|examples|bindings)/[^` *]+\.[a-z]+`' |
        grep -v NAME | tr -d '`'); do
        [ -e "$file" ] || { echo "$page: no file $file" >&2; exit 1; }
    done
done
for page in $(git ls-files 'docs/*.md' 'docs/*.ipynb'); do
    case $page in
    */README.md) continue ;;
    docs/tables/*) list=docs/tables/README.md ;;
    *) list=docs/README.md ;;
    esac
    grep -qF "](${page#"$(dirname "$list")/"})" "$list" ||
        { echo "$list does not list $page" >&2; exit 1; }
done
echo "links: $n_links lead somewhere"
