#!/bin/sh
# The dependency law of src/README.md: a folder includes headers of itself
# and of the folders to its right only.
#   api -> learn -> {train, eval, io} -> stage -> arch -> data -> backend -> op -> memory
#       -> base
# Of backend/ and op/, rooms to their left see backend/backend.h and op/op.h.
# Learning a module map sees the formulas of its operator, op/shared/module_map.h.
# In stage/: {completion -> first_pass, track_fitting} -> helix.
# dist/ sees its own folder and public headers, and nobody sees dist/.
set -eu
failed=0

# allow FOLDER PATTERN: files of src/FOLDER may include only what PATTERN matches.
allow()
{
    # shellcheck disable=SC2046
    bad=$(grep -rnE '^#include "' "src/$1" --include='*.c' --include='*.h' |
        grep -vE "#include \"($2)" || true)
    if [ -n "$bad" ]; then
        echo "src/$1 includes what it must not:" >&2
        echo "$bad" >&2
        failed=1
    fi
}

base='base/'
memory="memory/|$base"
op="op/|$memory"
backend="backend/backend\\.h|op/op\\.h|$memory"
data="data/|$backend"
arch="arch/|$data"
stage="stage/|op/shared/module_map\\.h|$arch"
allow base "$base"
allow memory "$memory"
allow op "$op"
allow backend "backend/|op/op\\.h|$memory"
allow data "$data"
allow arch "$arch"
allow stage "$stage"
helix="stage/(helix/|options\\.h)|$arch"
first_pass="stage/first_pass/|$helix"
allow stage/helix "$helix"
allow stage/first_pass "$first_pass"
allow stage/completion "stage/completion/|$first_pass"
allow stage/track_fitting "stage/track_fitting/|$helix"
allow io "io/|$stage"
allow eval "eval/|$stage"
allow dist 'dist/'
train="train/|io/|eval/|$stage"
allow train "$train"
allow learn "learn/|$train"
[ $failed = 0 ] && echo 'includes: every folder sees only folders to its right'
exit $failed
