#!/bin/sh
# What got slower: the ratios of `checkop-bench ratios` next to those stored for
# this kind of processor. Prints, and fails only when the benchmark does. A case
# is marked when the quantiles are a tenth apart; on a busy machine run it twice.
#
#   examples/studies/regression.sh BENCH          compare with the stored ratios
#   examples/studies/regression.sh BENCH store    store these
#
# SPDX-License-Identifier: Apache-2.0
set -eu
bench=$1
kind=$(awk -F ': *' '/^vendor_id/ { v = $2 } /^cpu family/ { f = $2 }
    /^model\t/ { print v "-" f "-" $2; exit }' /proc/cpuinfo)
stored=examples/studies/ratios/$kind.txt
now=$(mktemp)
trap 'rm -f "$now"' EXIT

"$bench" ratios >"$now"
if [ "${2:-}" = store ]; then
    mkdir -p examples/studies/ratios
    cp "$now" "$stored"
    echo "stored as $stored"
    exit
fi
if [ ! -e "$stored" ]; then
    cat "$now"
    echo "nothing is stored for $kind: make bench-regression STORE=1"
    exit
fi
awk -F '\t' -v OFS='\t' '
    { key = $1 FS $2 }
    FNR == 1 { next }
    NR == FNR { median[key] = $4; low[key] = $5; high[key] = $6; next }
    FNR == 2 { print "case", "probe", "median", "p10", "p90", "stored",
               "now/stored", "", "sizes" }
    !(key in median) { print $1, $3, $4, $5, $6, "-", "-", "new", $2; next }
    {
        word = $5 > 1.1 * high[key] ? "slower" : ""
        if (1.1 * $6 < low[key])
            word = "faster"
        ratio = median[key] > 0 ? $4 / median[key] : 1
        print $1, $3, $4, $5, $6, median[key], sprintf("%.2f", ratio), word, $2
    }' "$stored" "$now"
