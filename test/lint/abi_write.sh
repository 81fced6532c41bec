#!/bin/sh
# Write the structs and functions of library $1, as far as the headers in folder $2
# define them, to the file $3.
set -eu
abidw --exported-interfaces-only --headers-dir "$2" --drop-private-types \
    --no-corpus-path --no-comp-dir-path --no-show-locs "$1" --out-file "$3"
