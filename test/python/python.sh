#!/bin/sh
# Tests in Python; each skips with its reason what needs a module that this machine
# lacks. $1, $2: the folders of the build and the library; $3: the folder of the
# tests, test/python unless given.
set -eu
if ! command -v python3 >/dev/null 2>&1; then
    echo 'SKIPPED python: no python3'
    exit 77
fi
if ! python3 -c 'import numpy' 2>/dev/null; then
    echo 'SKIPPED python: no numpy'
    exit 77
fi
export ETX_LIBRARY="${ETX_LIBRARY:-$(realpath "$2")/libexatrkx.so}" ETX_BUILD="$1" \
    PYTHONPATH=bindings/python:test/python PYTHONDONTWRITEBYTECODE=1
python3 test/python/run.py "${3:-test/python}" 'test_*.py'
[ -z "${3:-}" ] || exit 0
# Without the interpreter lock, where there is such a Python with numpy.
free=
for name in python3.13t python3.14t; do
    ! "$name" -c 'import numpy' 2>/dev/null || free=$name
done
if [ -n "$free" ]; then
    for name in threads library interrupt training; do
        "$free" test/python/run.py test/python "test_$name.py"
    done
else
    echo 'SKIPPED threads without an interpreter lock: no python3.13t or' \
        'python3.14t with numpy'
fi
# Arrays on a device, over the emulation of CUDA.
[ ! -e "$1/test/device/libexatrkx.so.0" ] ||
    ETX_LIBRARY=$1/test/device/libexatrkx.so.0 \
        python3 test/python/run.py test/python test_device_input.py
