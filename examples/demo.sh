#!/bin/sh
# Find the tracks of the events that ship with the model that ships, evaluate
# them against their truth and draw one event. $1: the build folder.
set -eu
programs=$1/examples
out=$1/demo
mkdir -p "$out"

events=
tracks=
for hits in examples/data/event*-hits.csv.gz; do
    event=${hits%-hits.csv.gz}
    name=$(basename "$event")
    "$programs/etx-find-tracks" --event "$event" --out "$out/$name-tracks.csv" \
        --timing --svg "$out/$name.svg"
    events="$events --event $event"
    tracks="$tracks --tracks $out/$name-tracks.csv"
done
echo
# The lists are meant to split into words.
# shellcheck disable=SC2086
"$programs/etx-evaluate" $events $tracks --min-pt 0.5
echo
echo "tracks and event displays: $out/*.csv, $out/*.svg"
