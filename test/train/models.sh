#!/bin/sh
# Every command of examples/train-models.sh works, one after the other: trainings
# of a second each on the small events that ship. $1: the build folder.
set -eu
build=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
data=$PWD/examples/data

sed -n 's/^simulate \([^ ]*\) .*/\1/p' examples/train-models.sh |
    while read -r name; do
        mkdir "$out/$name"
        ln -s "$data"/event00000000[01]-* "$out/$name"
    done
if ! ADAPT_TIME=1 sh examples/train-models.sh "$out" --time-limit 1 >"$out/log" 2>&1; then
    tail -n 20 "$out/log" >&2
    exit 1
fi
for model in default positions accurate chain pixels odd; do
    "$build/examples/etx-find-tracks" --model "$out/$model.safetensors" \
        --event "$data/event000000001" --out "$out/tracks.csv" >/dev/null
done
echo 'train-models: all trainings run'
