#!/bin/sh
# Run every program on the data that ship: what it promises on the command
# line, its exit codes, and its results. $1: the build folder.
set -eu
programs=$1/examples
model=examples/models/default.safetensors
event=examples/data/event000000001
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail()
{
    echo "programs: $*" >&2
    exit 1
}

# exits CODE COMMAND...: the exit code, and one line on stderr without warnings,
# when not 0.
exits()
{
    wanted=$1
    shift
    code=0
    "$@" >"$out/stdout" 2>"$out/stderr" || code=$?
    [ "$code" = "$wanted" ] || {
        cat "$out/stderr" >&2
        fail "exit $code instead of $wanted: $*"
    }
    if [ "$wanted" != 0 ]; then
        [ "$(grep -vc ': warning: ' "$out/stderr")" = 1 ] || {
            cat "$out/stderr" >&2
            fail "not one line on stderr: $*"
        }
    fi
}

for program in "$programs"/etx-*; do
    case $program in *.d) continue ;; esac
    exits 0 "$program" --help
    grep -q '^usage: ' "$out/stdout" || fail "no usage: $program"
    exits 0 "$program" -h
    exits 0 "$program" --version
    grep -q "^${program##*/} (libexatrkx) [0-9]" "$out/stdout" ||
        fail "no version: $program"
    exits 2 "$program" --no-such-option
    ! command -v readelf >/dev/null 2>&1 ||
        readelf -d "$program" | grep -q BIND_NOW ||
        fail "$program: its table of addresses stays writable"
done

# The main job: files out, timing, display, same bytes for any thread count.
exits 0 "$programs/etx-find-tracks" --model $model --event $event \
    --out "$out/tracks.csv" --threads 1 --timing --timing-json "$out/t.json" \
    --svg "$out/event.svg"
[ "$(head -1 "$out/tracks.csv")" = hit_id,track_id ] || fail 'tracks header'
grep -q 'embedding' "$out/stderr" || fail 'no timing table'
grep -q '"stage": "gnn"' "$out/t.json" || fail 'no timing json'
grep -q '<svg' "$out/event.svg" || fail 'no svg'
n_hits=$(($(zcat $event-hits.csv.gz | wc -l) - 1))
[ $(($(wc -l <"$out/tracks.csv") - 1)) = $n_hits ] || fail 'a line per hit'
for threads in 2 4; do
    exits 0 "$programs/etx-find-tracks" --model $model --event $event \
        --out "$out/again.csv" --threads $threads
    cmp "$out/tracks.csv" "$out/again.csv" || fail "$threads threads differ"
done
"$programs/etx-find-tracks" --event $event --out /dev/stdout >"$out/written.csv" 2>"$out/stderr"
cmp "$out/tracks.csv" "$out/written.csv" || fail 'more than tracks on the standard output'
"$programs/etx-find-tracks" --event $event --out /dev/stdout 2>"$out/stderr" |
    cmp - "$out/tracks.csv" || fail 'more than tracks in a pipe'
exits 0 "$programs/etx-find-tracks" --hits $event-hits.csv.gz \
    --cells $event-cells.csv.gz --out "$out/files.csv.gz"
zcat "$out/files.csv.gz" | cmp - "$out/tracks.csv" || fail 'files differ'
# From any folder: the model by name, the detector, a file in place of a prefix.
here=$(pwd)
path=$(cd "$programs" && pwd)
(
    cd "$out"
    exits 0 "$path/etx-find-tracks" --model default \
        --event "$here/$event-truth.csv.gz" --out named.csv
)
cmp "$out/tracks.csv" "$out/named.csv" || fail 'the model by name differs'
exits 1 "$programs/etx-find-tracks" --event $event-hits.csv --event "$out/no" \
    --out "$out/x"
grep -q "neither $out/no-hits.csv nor" "$out/stderr" || fail 'a missing event'
[ ! -e "$out/x" ] || fail 'a missing event was found late'
touch "$out/event.pyg"
exits 1 "$programs/etx-find-tracks" --event "$out/event.pyg" --out "$out/none.csv"
grep -q 'event.pyg: no prefix of CSV files' "$out/stderr" || fail 'a file of another form'
exits 0 "$programs/etx-find-tracks" --event examples/data --out "$out/all"
[ "$(find "$out/all" -name '*-tracks.csv' | wc -l)" = \
    "$(find examples/data -name '*-hits.csv.gz' | wc -l)" ] ||
    fail 'a folder of events'
# Several contexts share the events: the same files and lines, in order.
"$programs/etx-find-tracks" --event examples/data --at-once 1 --out "$out/one" \
    >"$out/one.txt"
for some in '--threads 3' '--threads 3 --at-once 2' '--device cpu,cpu,cpu'; do
    rm -rf "$out/more"
    # shellcheck disable=SC2086 # several words
    "$programs/etx-find-tracks" --event examples/data $some --out "$out/more" \
        >"$out/more.txt"
    diff -r "$out/one" "$out/more"
    diff "$out/one.txt" "$out/more.txt"
done
exits 2 "$programs/etx-find-tracks" --event examples/data --device cpu,cpu \
    --at-once 2 --out "$out/more"
# Events in turn to several devices, over the emulation of CUDA.
if [ -e "$1/test/device/libexatrkx.so.0" ]; then
    for devices in 0 0,1 0,1,2,3 1,1; do
        rm -rf "$out/more"
        LD_LIBRARY_PATH=$1/test/device "$programs/etx-find-tracks" \
            --event examples/data --device "cuda:$devices" --out "$out/more" \
            >"$out/more.txt"
        [ -e "$out/device" ] || mv "$out/more" "$out/device"
        [ "$devices" = 0 ] || diff -r "$out/device" "$out/more"
    done
else
    echo 'SKIPPED programs on devices: no C++ compiler, or not x86-64'
fi
exits 2 "$programs/etx-find-tracks" --event examples/data --device cuda:x \
    --out "$out/one"
# Events of one name, whose results would be one file.
mkdir "$out/same"
cp $event-* "$out/same"
exits 2 "$programs/etx-find-tracks" --event examples/data --event "$out/same" \
    --out "$out/twice"
grep -q 'would share the file event000000001-tracks.csv' "$out/stderr" ||
    fail 'events of one name'
[ ! -e "$out/twice" ] || fail 'events of one name wrote something'
# A folder is answered by a folder, also where it holds one event or is there.
exits 0 "$programs/etx-find-tracks" --event "$out/same" --out "$out/of-one"
cmp -s "$out/tracks.csv" "$out/of-one/event000000001-tracks.csv" ||
    fail 'a folder of one event'
exits 0 "$programs/etx-find-tracks" --event $event --out "$out/of-one"
exits 2 "$programs/etx-evaluate" --event $event --event "$out/same" \
    --tracks "$out/all"
grep -q 'event000000001-tracks.csv' "$out/stderr" || fail 'tracks of one name'
exits 1 "$programs/etx-find-tracks" --event "$out/none" --out "$out/x.csv"
exits 1 "$programs/etx-find-tracks" --model $event-hits.csv.gz \
    --event $event --out "$out/x.csv"
exits 1 "$programs/etx-find-tracks" --event $event --out /nonexistent/x.csv
exits 2 "$programs/etx-find-tracks" --event $event
exits 2 "$programs/etx-find-tracks" --event $event --out x --threads -1
exits 1 "$programs/etx-find-tracks" --event $event --out "$out/x.csv" \
    --device cuda

# Evaluation: the keys that scripts read, and a sensible result.
exits 0 "$programs/etx-evaluate" --event $event --tracks "$out/tracks.csv" \
    --min-pt 0.5 --json
for key in n_particles_selected n_particles_reconstructable n_tracks \
    physics_efficiency technical_efficiency purity fake_rate duplicate_rate \
    trackml_score primary_score technical_efficiency_low technical_efficiency_high; do
    grep -q "\"$key\"" "$out/stdout" || fail "evaluate: no key $key"
done
# Of a submission of two events, the lines of this one.
awk -F, 'NR == 1 { print "event_id," $0; next }
    { print "0," $1 ",1"; print "1," $0 }' "$out/tracks.csv" >"$out/submission.csv"
mv "$out/stdout" "$out/alone"
exits 0 "$programs/etx-evaluate" --event $event --tracks "$out/submission.csv" \
    --min-pt 0.5 --json
cmp -s "$out/alone" "$out/stdout" || fail 'evaluate: two events'
exits 1 "$programs/etx-evaluate" --event examples/data/event000000002 \
    --tracks "$out/submission.csv"
grep -q 'no row has event_id 2' "$out/stderr" || fail 'evaluate: no such event'
for matching in double_majority atlas perfect; do
    exits 0 "$programs/etx-evaluate" --event $event \
        --tracks "$out/tracks.csv" --matching $matching
done
exits 2 "$programs/etx-evaluate" --event $event --tracks "$out/tracks.csv" \
    --matching no-such
# Each cut changes what is counted, here of particles half of which are neutral.
for kind in hits truth cells; do
    cp $event-$kind.csv.gz "$out/half-$kind.csv.gz"
done
zcat $event-particles.csv.gz |
    awk -F, -v OFS=, 'NR % 2 == 0 { $8 = 0 } { print }' >"$out/half-particles.csv"
counts()
{
    exits 0 "$programs/etx-evaluate" --event "$out/half" \
        --tracks "$out/tracks.csv" --json "$@"
    grep '"n_' "$out/stdout" >"$out/counts"
}
counts
mv "$out/counts" "$out/plain"
for option in --neutral '--max-eta 1' '--min-track-hits 8' '--fraction 0.9'; do
    # shellcheck disable=SC2086
    counts $option
    ! cmp -s "$out/plain" "$out/counts" || fail "evaluate: $option"
done

# Momenta in MeV, which cuts in pT take for GeV.
zcat $event-particles.csv.gz | awk -F, -v OFS=, 'NR > 1 {
    for (i = 5; i < 8; i++) $i *= 1e3 } 1' >"$out/half-particles.csv"
counts
grep -q 'warning: half: .* momenta are wanted in GeV' "$out/stderr" ||
    fail 'evaluate: no warning'

# In a folder of tracks .csv goes before .csv.gz, here of before.
mkdir "$out/pair"
cp "$out/tracks.csv" "$out/pair/event000000001-tracks.csv"
echo 'of before' >"$out/pair/event000000001-tracks.csv.gz"
exits 0 "$programs/etx-evaluate" --event $event --tracks "$out/pair"

# A folder of shipped files that is none.
exits 1 env ETX_DATA="$out/none" "$programs/etx-find-tracks" --event $event \
    --out "$out/x.csv"
grep -q 'ETX_DATA=.*/none: no such folder' "$out/stderr" || fail 'ETX_DATA'

# Parameters: a line for every track, nearly all fitted, pT as in the truth.
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --out "$out/parameters.csv"
[ "$(cut -d, -f2 "$out/tracks.csv" | grep -vx 0 | sort -u | grep -c '[0-9]')" = \
    "$(grep -c '^[0-9]' "$out/parameters.csv")" ] || fail 'fit: lines'
awk -F, 'NR > 1 { n++; fitted += $13 > 0; near += $2 * $2 < 1 }
    END { exit !(fitted > 0.9 * n && near > 0.6 * n) }' "$out/parameters.csv" ||
    fail 'fit: parameters'
# track_id is that of the tracks' file: with other ids, the same parameters.
awk -F, -v OFS=, 'NR > 1 && $2 > 0 { $2 = 1000 - $2 } 1' "$out/tracks.csv" \
    >"$out/other-ids.csv"
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/other-ids.csv" \
    --out "$out/other.csv" --min-hits 1 --resolved "$out/resolved.csv"
awk -F, -v OFS=, 'NR > 1 { $1 = 1000 - $1 } 1' "$out/other.csv" |
    cmp -s "$out/parameters.csv" - || fail 'fit: ids of the file'
cmp -s "$out/other-ids.csv" "$out/resolved.csv" || fail 'fit: ids of resolved'
# Tracks that share no hits all stay, of as many hits as are wanted.
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --out "$out/parameters.csv" --min-hits 1 --resolved "$out/resolved.csv"
cmp -s "$out/tracks.csv" "$out/resolved.csv" || fail 'fit: resolved tracks'
# Tracks in a folder, as etx-find-tracks makes it, are the event's.
mkdir "$out/folder"
gzip -c "$out/tracks.csv" >"$out/folder/$(basename $event)-tracks.csv.gz"
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/folder" \
    --out "$out/of-folder.csv"
cmp "$out/parameters.csv" "$out/of-folder.csv" || fail 'fit: tracks in a folder'
exits 1 "$programs/etx-fit-tracks" --event $event --tracks "$out"
exits 1 "$programs/etx-fit-tracks" --event $event --tracks "$out/none.csv"
grep -q "^etx-fit-tracks: $out/none.csv: cannot open" "$out/stderr" ||
    fail 'fit: a file is named once'
exits 2 "$programs/etx-fit-tracks" --event $event
exits 2 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --max-shared 2
exits 2 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --out "$out/one.csv" --resolved "$out/one.csv"
exits 2 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --model default --field 2
exits 0 "$programs/etx-fit-tracks" --event $event-hits.csv.gz \
    --tracks "$out/tracks.csv" --out "$out/same.csv"
cmp -s "$out/parameters.csv" "$out/same.csv" || fail 'fit: a file of the event'
exits 1 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --out /nonexistent/x.csv

# A uniform field as a map, its axis elsewhere; what is no map is refused.
awk 'BEGIN { print "r,z,b_r,b_z,x,y"
    for (r = 0; r <= 1200; r += 600) for (z = 3000; z >= -4000; z -= 1000)
        print r "," z ",0,2,10,-20" }' >"$out/map.csv"
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --field 2 --out "$out/other.csv"
exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --field-map "$out/map.csv" --out "$out/same.csv"
paste -d, "$out/other.csv" "$out/same.csv" | awk -F, 'NR > 1 { n++
    off += ($6 - $22) ^ 2 > 1e-12 } END { exit !(n > 9 && !off) }' ||
    fail 'fit: a map of a uniform field'
for fault in '2d' '3p' 's/600,1000,/600,1100,/' 's/^0,/1,/' 's/,10,-20$/,10/' \
    's/0,2,/0,nan,/' '2,99d'; do
    sed "$fault" "$out/map.csv" >"$out/no-map.csv"
    exits 1 "$programs/etx-fit-tracks" --event $event \
        --tracks "$out/tracks.csv" --field-map "$out/no-map.csv"
done
exits 2 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
    --field-map "$out/map.csv" --field 2

# Options of the fit reach it.
for option in '--field 1' '--material 0' '--energy-loss 0' '--resolution 2' \
    '--max-hit-chi2 4'; do
    # shellcheck disable=SC2086
    exits 0 "$programs/etx-fit-tracks" --event $event --tracks "$out/tracks.csv" \
        --out "$out/other.csv" $option
    ! cmp -s "$out/parameters.csv" "$out/other.csv" || fail "fit: $option"
done

# A module map in place of the embedding: a wider window has more edges, a map
# with triplets fewer. What is not learned has no options.
learn()
{
    code=$1
    shift
    exits "$code" "$programs/etx-learn-completion" --data $event \
        --out "$out/map.safetensors" "$@"
}
previous=0
for options in '--margin 0' '--margin 40 --triplets 1' '--margin 40'; do
    # shellcheck disable=SC2086
    learn 0 --module-map layers $options
    exits 0 "$programs/etx-graph" --stage graph --event $event \
        --model "$out/map.safetensors" --out "$out/map.csv"
    edges=$(wc -l <"$out/map.csv")
    [ "$edges" -gt "$previous" ] || fail "module map: $options, $edges edges"
    previous=$edges
done
learn 2 --module-map layers --max-join 1
learn 2 --triplets 1
learn 2 --module-map cells
exits 1 "$programs/etx-learn-completion" --data $event --out /nonexistent/x
for option in '--max-distance 0' '--max-random 0' '--min-layers 0'; do
    # shellcheck disable=SC2086
    learn 0 $option
    exits 0 "$programs/etx-find-tracks" --event $event \
        --model "$out/map.safetensors" --out "$out/other.csv"
    ! cmp -s "$out/tracks.csv" "$out/other.csv" || fail "completion: $option"
done

# Of tracks that are no helices no first pass is learned, and an error where it is
# required: here half of the charges are wrong.
for kind in hits truth; do
    zcat $event-$kind.csv.gz >"$out/turned-$kind.csv"
done
zcat $event-particles.csv.gz |
    awk -F, -v OFS=, 'NR % 2 == 0 { $8 = -$8 } { print }' >"$out/turned-particles.csv"
exits 0 "$programs/etx-learn-completion" --data "$out/turned" --out "$out/turned.safetensors"
grep -q 'do not agree on a field along z' "$out/stderr" || fail 'no word of the first pass'
grep -q ': completion from 1 events' "$out/stdout" || fail 'a first pass was learned'
exits 1 "$programs/etx-learn-completion" --data "$out/turned" \
    --out "$out/turned.safetensors" --first-pass 1

# A config that ships goes by its name.
exits 1 "$programs/etx-train" --config filter --data $event --out "$out/f.safetensors"
grep -q 'training of filter needs a start model' "$out/stderr" || fail 'no config filter'
exits 1 "$programs/etx-train" --config filtre --data $event --out "$out/f.safetensors"
grep -q 'filtre: No such file' "$out/stderr" || fail 'a config of no name'

# One stage at a time gives the tracks of the whole, where all tracks of its first
# pass are found without one.
exits 0 "$programs/etx-find-tracks" --model accurate --event $event --out "$out/whole.csv"
exits 0 "$programs/etx-graph" --stage completion --model accurate --event $event \
    --out "$out/complete.csv"
paste -d, "$out/complete.csv" "$out/whole.csv" | awk -F, '
    NR > 1 && ($2 + 1 != $4) { exit 1 }' || fail 'labels are not the tracks'
for stage in embedding graph filter gnn label completion; do
    exits 0 "$programs/etx-graph" --stage $stage --model $model \
        --event $event --out "$out/$stage.csv"
done
[ "$(wc -l <"$out/embedding.csv")" = $n_hits ] || fail 'embedding: a line per hit'
exits 0 "$programs/etx-graph" --stage embedding --event $event --out "$out/own.csv"
cmp "$out/embedding.csv" "$out/own.csv" || fail 'embedding: not with the default model'
[ "$(head -1 "$out/gnn.csv")" = src,dst,score ] || fail 'gnn header'
exits 0 "$programs/etx-graph" --stage label --model $model --event $event \
    --edges "$out/gnn.csv" --out "$out/label2.csv"
cmp "$out/label.csv" "$out/label2.csv" || fail 'labels from edges differ'
exits 0 "$programs/etx-graph" --stage graph --points "$out/embedding.csv" \
    --radius 0.1 --out "$out/points.csv"
exits 0 "$programs/etx-graph" --stage graph --points "$out/embedding.csv" \
    --k 3 --orientation both --out "$out/knn.csv"
[ $(($(wc -l <"$out/knn.csv") - 1)) = $((3 * n_hits)) ] || fail 'knn edges'
# The same bits from 1, 2 and 4 threads, 20 times: nine digits tell all float32.
for run in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    exits 0 "$programs/etx-graph" --stage gnn --model $model --event $event \
        --out "$out/run.csv" --threads $((1 << run % 3))
    cmp "$out/gnn.csv" "$out/run.csv" || fail "run $run has other bits"
done
# Each stage takes the file that the one before it wrote.
exits 0 "$programs/etx-graph" --stage filter --model $model --event $event \
    --edges "$out/graph.csv" --out "$out/filter2.csv"
cmp "$out/filter.csv" "$out/filter2.csv" || fail 'filter from edges differs'
for bad in '0,100000000' '0.5,1' '-1,2' '0,x' '0,1,2,3'; do
    printf '0,1\n%s\n' "$bad" >"$out/bad.csv"
    exits 1 "$programs/etx-graph" --stage filter --model $model \
        --event $event --edges "$out/bad.csv" --out "$out/x.csv"
done
zcat $event-hits.csv.gz | gzip -c | head -c 2000 >"$out/cut.csv.gz"
exits 1 "$programs/etx-graph" --stage graph --points "$out/cut.csv.gz" \
    --radius 1 --out "$out/x.csv"
exits 2 "$programs/etx-graph" --stage no-such --out "$out/x.csv"
# Points have no header, and none that is broken is taken for one.
printf '0,0,O\n1,0,0\n2,0,0\n' >"$out/letter.csv"
exits 1 "$programs/etx-graph" --stage graph --points "$out/letter.csv" \
    --radius 1.5 --out "$out/x.csv"
# A graph without edges is read like others.
printf '0,0,0\n9,0,0\n' >"$out/apart.csv"
exits 0 "$programs/etx-graph" --stage graph --points "$out/apart.csv" \
    --radius 1 --out "$out/none.csv"
[ "$(cat "$out/none.csv")" = src,dst ] || fail 'edges of points far apart'
exits 0 "$programs/etx-graph" --stage filter --model $model --event $event \
    --edges "$out/none.csv" --out "$out/x.csv"
[ "$(wc -l <"$out/x.csv")" = 1 ] || fail 'the filter of no edges'
# Options that do not apply.
for wrong in '--radius 1' '--k 3' '--orientation both' '--cells x' \
    '--scales 1,1,1' '--cut 0.5' '--features x' '--points x --k 1'; do
    # shellcheck disable=SC2086
    exits 2 "$programs/etx-graph" --stage gnn --model $model --event $event \
        --out "$out/wrong.csv" $wrong
done
exits 2 "$programs/etx-graph" --stage graph --model $model --event $event \
    --edges "$out/graph.csv" --out "$out/wrong.csv"
[ ! -e "$out/wrong.csv" ] || fail 'a result in spite of wrong options'
# A result that does not fit is an error that leaves what was there.
(
    ulimit -f 2
    exits 1 "$programs/etx-graph" --stage embedding --model $model --event $event \
        --out "$out/none.csv"
)
grep -q 'File too large' "$out/stderr" || fail 'no line on a full disk'
[ "$(cat "$out/none.csv")" = src,dst ] || fail 'half a file was left'
[ -z "$(find "$out" -name '*.tmp')" ] || fail 'a temporary file was left'

# Seeds: those above a cut, and the cut for a purity.
exits 0 "$programs/etx-seeds" --event examples/data/event000000002 \
    --out "$out/seeds.csv" --threads 1
[ "$(head -1 "$out/seeds.csv")" = hit_id_1,hit_id_2,hit_id_3,score ] ||
    fail 'seeds header'
awk '$1 == "seeds" { seeds = $2 } END { print seeds }' "$out/stdout" \
    >"$out/count"
[ "$(cat "$out/count")" = $(($(wc -l <"$out/seeds.csv") - 1)) ] ||
    fail 'seeds: a line each'
"$programs/etx-seeds" --event examples/data/event000000002 --out /dev/stdout --threads 1 \
    2>"$out/stderr" | cmp - "$out/seeds.csv" || fail 'seeds: the report among them'
grep -q '^purity ' "$out/stderr" || fail 'seeds: no report'
exits 2 "$programs/etx-seeds" --event examples/data/event000000002 \
    --purity 0.99 --out "$out/x.csv"
exits 0 "$programs/etx-seeds" --event examples/data --cut 0 --purity 0.99 \
    --threads 2
awk '$1 == "purity" { purity = $2 } $1 == "efficiency" { efficiency = $2 }
    END { exit !(purity >= 0.99 && efficiency >= 0.95) }' "$out/stdout" ||
    fail 'seeds: purity and efficiency'
exits 2 "$programs/etx-seeds" --event examples/data --out "$out/x.csv"
exits 1 "$programs/etx-seeds" --event $event --max-triplets 10

# Physics on the real event, with the model that ships: double majority, pT
# above 0.5 GeV, at least 5 hits.
real=${ETX_REFERENCE_DATA:-../shared/data}/trackml_event/event000000001
if [ -e "$real-hits.csv.gz" ]; then
    exits 0 "$programs/etx-find-tracks" --model $model --event "$real" \
        --out "$out/real.csv"
    exits 0 "$programs/etx-evaluate" --event "$real" \
        --tracks "$out/real.csv" --min-pt 0.5 --json
    awk -F'[:,]' '/"technical_efficiency":/ { efficiency = $2 }
        /"purity":/ { purity = $2 }
        END { print "real event: technical efficiency" efficiency \
                  ", purity" purity
              exit !(efficiency >= 0.94 && purity >= 0.90) }' \
        "$out/stdout" || fail 'physics on the real event'
else
    echo "SKIPPED real event: no reference data in ${real%/*/*}"
fi

# Training: three stages in a row, and a run that was stopped and went on is
# the run that was not.
for stage in embedding filter gnn; do
    sed 's/"steps": [0-9]*/"steps": 4/; s/"warmup_steps": [0-9]*/"warmup_steps": 1/' \
        examples/configs/$stage.json >"$out/$stage.json"
done
train()
{
    stage=$1
    shift
    exits 0 "$programs/etx-train" --config "$out/$stage.json" \
        --data examples/data/event000000000 \
        --validation examples/data/event000000001 "$@"
}
train embedding --out "$out/e.safetensors" --log "$out/e.jsonl"
grep -q '"learning_rate"' "$out/e.jsonl" || fail 'training log'
train filter --start "$out/e.safetensors" --out "$out/f.safetensors"
train gnn --start "$out/f.safetensors" --out "$out/g.safetensors" --threads 1
train gnn --start "$out/f.safetensors" --out "$out/h.safetensors" \
    --time-limit 0.000001 --threads 2
cmp -s "$out/g.safetensors" "$out/h.safetensors" && fail 'was not stopped'
train gnn --start "$out/f.safetensors" --out "$out/h.safetensors" --resume \
    --threads 2
cmp "$out/g.safetensors" "$out/h.safetensors" || fail 'resume: other bits'
# What a killed run left is removed; graphs from the disk change nothing.
mkdir "$out/graphs"
left=$out/h.safetensors.checkpoint.999999999-1-0.tmp
echo left >"$left"
for run in 1 2; do
    train gnn --start "$out/f.safetensors" --out "$out/h.safetensors" \
        --cache "$out/graphs"
    cmp "$out/g.safetensors" "$out/h.safetensors" || fail 'cache: other bits'
    [ ! -e "$left" ] || fail 'a temporary file was left'
done
[ "$(find "$out/graphs" -name '*.graph' | wc -l)" = 2 ] || fail 'no cache'
# A rate of 0 gets nowhere: two validations that are not better end it.
sed 's/learning_rate": [0-9.]*/learning_rate": 0/g
    s/"steps": [0-9]*/"steps": 40/
    s/"schedule"/"validation": {"patience": 2}, "schedule"/' \
    "$out/gnn.json" >"$out/idle.json"
train idle --start "$out/f.safetensors" --out "$out/i.safetensors" \
    --validate-every 1 --log "$out/i.jsonl"
[ "$(grep -c '"validation"' "$out/i.jsonl")" = 4 ] || fail 'no early end'
grep -q '"best": true' "$out/i.jsonl" || fail 'no best validation in the log'
grep -q '^no better validation: ended at step 3$' "$out/stdout" ||
    fail 'not a word about the early end'
# Validations that cannot be measured end nothing, and are told.
sed 's/"validation": {/&"patience": 1, "radius": 1000, /' \
    "$out/embedding.json" >"$out/wide.json"
exits 0 "$programs/etx-train" --config "$out/wide.json" \
    --data examples/data/event000000000 --validate-every 1 \
    --validation examples/data/event000000002 --out "$out/w.safetensors"
[ "$(grep -c 'not measured: above 300 edges per hit' "$out/stdout")" = 4 ] ||
    fail 'a validation that is not measured'
exits 1 "$programs/etx-train" --config "$out/embedding.json" \
    --data examples/data/event000000000 --out "$out/w.safetensors" \
    --log /dev/full
grep -q '/dev/full' "$out/stderr" || fail 'a log on a full disk'
echo '{"stage": "gnn",
    "seed" }' >"$out/broken.json"
exits 1 "$programs/etx-train" --config "$out/broken.json" \
    --data examples/data/event000000000 --out "$out/w.safetensors"
grep -q 'line 2, column 12: ' "$out/stderr" || fail 'no line of the config'
exits 0 "$programs/etx-find-tracks" --model "$out/h.safetensors" \
    --event $event --out "$out/trained.csv"
# Any family can be the graph network.
features='[{"name": "R", "scale": 1000}, {"name": "x", "scale": 1000},
    {"name": "y", "scale": 1000}, {"name": "z", "scale": 1000}]'
for family in graph_convolution triplet_gnn attention_gnn lorentz_network; do
    echo "{\"stage\": \"gnn\", \"model\": {\"arch\": \"$family\"," \
        "\"node_features\": $features}, \"schedule\": {\"steps\": 2}," \
        "\"sampling\": {\"hits\": 0, \"edges\": 500}}" >"$out/$family.json"
    train $family --start "$out/f.safetensors" --out "$out/any.safetensors"
    exits 0 "$programs/etx-graph" --stage gnn --event $event \
        --model "$out/any.safetensors" --out "$out/any.csv"
done
exits 1 "$programs/etx-train" --config $event-hits.csv.gz \
    --data examples/data --out "$out/x.safetensors"
# Where nothing can be written, that is told before anything is read.
untold()
{
    program=$programs/$1
    shift
    exits 1 "$program" "$@"
    grep -q "$wrong" "$out/stderr" || fail "told late, not: $wrong"
}
mkdir "$out/lone"
echo broken >"$out/lone/event1-hits.csv"
touch "$out/plain"
lone=$out/lone/event1
for wrong in '/nonexistent/x: No such file' 'lone: is a folder' \
    'plain/x: Not a directory'; do
    case $wrong in
    lone*) path=$out/lone ;;
    plain*) path=$out/plain/x ;;
    *) path=/nonexistent/x ;;
    esac
    untold etx-fit-tracks --event "$lone" --tracks "$out/t.csv" --out "$path"
    untold etx-fit-tracks --event "$lone" --tracks "$out/t.csv" \
        --resolved "$path"
    untold etx-graph --stage gnn --event "$lone" --out "$path"
    untold etx-seeds --event "$lone" --out "$path"
    untold etx-bench --event "$lone" --out "$path"
    untold etx-train --config "$out/gnn.json" --data "$lone" \
        --out "$out/x.safetensors" --scaling-report "$path"
done
wrong='/nonexistent/x: No such file'
untold etx-find-tracks --event "$lone" --out /nonexistent/x
untold etx-find-tracks --event "$lone" --out "$out/x.csv" --svg /nonexistent/x
untold etx-find-tracks --event "$lone" --out "$out/x.csv" \
    --timing-json /nonexistent/x
wrong='plain/event: Not a directory'
untold etx-find-tracks --event "$out/lone" --out "$out/plain"
exits 0 "$programs/etx-graph" --stage embedding --event $event --out /dev/null
"$programs/etx-graph" --stage embedding --event $event --out "$out/points.csv"
"$programs/etx-graph" --stage embedding --event $event --out /dev/stdout >"$out/stdout"
cmp "$out/points.csv" "$out/stdout" || fail 'the standard output as a file'
# What is wrong is told before events are read.
sed 's/"schedule"/"schedul"/' "$out/gnn.json" >"$out/typo.json"
mkdir "$out/unread"
echo broken >"$out/unread/event1-hits.csv"
early()
{
    exits 1 "$programs/etx-train" --data "$out/unread" "$@"
    grep -q "$wrong" "$out/stderr" || fail "not told early: $wrong"
}
wrong='(nearest: "schedule")' early --config "$out/typo.json" \
    --out "$out/x.safetensors"
wrong='/nonexistent/x: No such file' early --config "$out/gnn.json" \
    --out /nonexistent/x
wrong='is a folder' early --config "$out/gnn.json" --out "$out/unread"
wrong='x.safetensors.checkpoint: No such file' early --resume \
    --config "$out/gnn.json" --out "$out/x.safetensors"
wrong='neither' early --config "$out/gnn.json" --validation "$out/no" \
    --out "$out/x.safetensors"

exits 0 "$programs/etx-bench" --hits 1000 --repeats 2 --together 3 --threads 2 \
    --contexts 1,3 --out "$out/b.json"
for stage in event together contexts_1 contexts_3; do
    grep -q "\"stage\": \"$stage\"" "$out/b.json" || fail "bench json: $stage"
done
exits 2 "$programs/etx-bench" --hits 1000 --repeats 2 --stage gnnn
exits 2 "$programs/etx-bench" --hits 1000 --repeats 2 --contexts 2,0
exits 0 "$programs/etx-bench" --read $event-hits.csv.gz --repeats 2
grep -q "^read.$n_hits hits.median 0" "$out/stdout" || fail 'bench: a file read'
exits 2 "$programs/etx-bench" --read $event-hits.csv.gz --out "$out/read.json"
zcat $event-hits.csv.gz | cut -d, -f1-4 >"$out/bare-hits.csv"
exits 0 "$programs/etx-bench" --hits 1000 --repeats 2 --event "$out/bare"
zcat $event-hits.csv.gz | head -1 >"$out/empty-hits.csv"
exits 1 "$programs/etx-bench" --hits 1000 --repeats 2 --event "$out/empty"
grep -q 'no hits' "$out/stderr" || fail 'bench of no hits'
# All cores are those that the process may run on.
if command -v taskset >/dev/null 2>&1; then
    exits 0 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" \
        "$programs/etx-bench" --hits 100 --repeats 1 --stage event
    [ "$(tail -1 "$out/stdout" | cut -f 4)" = 1 ] || fail 'threads of one core'
else
    echo 'SKIPPED all cores of a mask: no taskset'
fi

# The small examples: find tracks, own edges, train.
exits 1 "$programs/small/find_tracks"
exits 0 "$programs/small/find_tracks" $model $event \
    examples/data/detectors.csv.gz
[ "$(wc -l <"$out/stdout")" -gt 40 ] || fail 'small: tracks'
exits 0 "$programs/small/own_edges"
[ "$(tail -1 "$out/stdout")" = 'hit 5: track 1' ] || fail 'small: own edges'
exits 0 "$programs/small/train" $event "$out/small.safetensors"
grep -q '^step 20: loss' "$out/stdout" || fail 'small: train'
[ -s "$out/small.safetensors" ] || fail 'small: no model'

exits 1 env CK_RUN_SUITE=none "${programs%/examples}/test/exatrkx-tests"
exits 1 env CK_RUN_CASE=none "${programs%/examples}/test/exatrkx-tests"

echo 'programs: every one does what it promises'
