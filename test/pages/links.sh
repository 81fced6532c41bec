#!/bin/sh
# Every relative link of the pages in the repository leads to a file and, with
# an anchor, to a heading of it.
set -eu
n_links=0
# Headings of a page as anchors: lower case, no punctuation, dashes.
anchors()
{
    sed -n 's/^#\{1,\} //p' "$1" | tr '[:upper:] ' '[:lower:]-' |
        sed 's/[^a-z0-9_-]//g'
}

for page in $(git ls-files '*.md'); do
    for link in $(awk '/^```/ { code = !code } !code' "$page" |
        grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' |
        grep -vE '^[a-z]+:' || true); do
        file=$(dirname "$page")/${link%%#*}
        case $link in
        '#'*) file=$page ;;
        esac
        [ -e "$file" ] || { echo "$page: no file $link" >&2; exit 1; }
        case $link in
        *'#'*) anchors "$file" | grep -qx -- "${link#*#}" ||
            { echo "$page: no heading $link" >&2; exit 1; } ;;
        esac
        n_links=$((n_links + 1))
    done
done
echo "links: $n_links lead somewhere"
