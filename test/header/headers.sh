#!/bin/sh
# Every public header compiles alone, without a warning, as C99, C11 and (with
# a C++ compiler) C++11.
set -eu

# check COMPILER STANDARD LANGUAGE HEADER
check()
{
    printf '#include <exatrkx/%s>\nextern int after_the_header;\n' "$4" |
        $1 -std="$2" -Wall -Wextra -Wpedantic -Werror -Iinclude -x "$3" \
            -fsyntax-only -
}

for header in include/exatrkx/*.h; do
    name=$(basename "$header")
    check "${CC:-gcc}" c99 c "$name"
    check "${CC:-gcc}" c11 c "$name"
    if command -v g++ >/dev/null 2>&1; then
        check g++ c++11 c++ "$name"
    fi
done
command -v g++ >/dev/null 2>&1 || echo 'SKIPPED headers as C++: no g++'
echo 'headers: each compiles alone'
