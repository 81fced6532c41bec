#!/bin/sh
# Every exported function is called by a test.
set -eu
missing=0
symbols=$(sed -n '/global:/,/local:/s/^ *\(etx_[a-z0-9_]*\);.*/\1/p' \
    lib/exatrkx.map lib/exatrkx_dist.map)
for symbol in $symbols; do
    if ! grep -rqw --include='*.c' "$symbol" test; then
        echo "no test calls $symbol" >&2
        missing=1
    fi
done
[ $missing = 0 ] && echo 'exported functions: each is called by a test'
exit $missing
