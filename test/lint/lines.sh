#!/bin/sh
# Lines by house and by folder: of product, bindings, studies, tests, the emulation of
# a GPU with what runs in it, the build, and the pages (Markdown, wherever it lies).
# Blank lines and comments count; data, models and pictures do not.
#   test/lint/lines.sh [COMMIT]     default: what is checked out
set -eu
# -c '' counts the lines of each file; of a commit, paths follow its name.
git grep -Ic '' ${1:+"$1"} -- '*.c' '*.h' '*.hpp' '*.inl' '*.cu' '*.cuh' '*.cpp' \
    '*.py' '*.js' '*.css' '*.html' '*.sh' '*.awk' '*.sed' '*.mk' '*.cmake' '*.md' \
    '*CMakeLists.txt' '*Makefile' '.ci/run' |
    sed "s|^${1:-}:||" | awk -F: '
function house(path)
{
    if (path ~ /\.md$/ || path ~ /^docs\//) return "pages"
    if (path ~ /^test\/cuda/) return "emulation"
    if (path ~ /^test\//) return "tests"
    if (path ~ /^examples\/studies\//) return "studies"
    if (path ~ /^bindings\//) return "bindings"
    if (path ~ /^(src|cuda|include|examples)\//) return "product"
    return "build"
}
# A folder of src, of the other houses, or of the Python package.
function folder(path, parts, n)
{
    n = split(path, parts, "/")
    if (n == 1) return "."
    if (path ~ /^bindings\/python\/exatrkx\/[a-z_]+\//)
        return "bindings/python/" parts[4]
    if (path ~ /^examples\/studies\// && n > 3)
        return "examples/studies/" parts[3]
    if (path ~ /^(src|test|bindings|examples\/studies)\// && n > 2)
        return parts[1] "/" parts[2]
    return parts[1]
}
{
    in_house[house($1)] += $2
    in_folder[house($1) ": " ($1 ~ /\.md$/ ? "*.md" : folder($1))] += $2
}
END {
    n = split("product bindings studies tests emulation build pages", order, " ")
    for (i = 1; i <= n; i++) {
        printf "%7d %s\n", in_house[order[i]], order[i]
        total += in_house[order[i]]
        fflush()
        for (name in in_folder)
            if (index(name, order[i] ":") == 1)
                printf "%15d %s\n", in_folder[name], \
                    substr(name, length(order[i]) + 3) | "sort -k2"
        close("sort -k2")
    }
    printf "%7d all\n", total
}'
