#!/bin/sh
# Make the events and train models like those that ship in examples/models,
# default.safetensors and then accurate.safetensors. $1: a folder for events and
# models; about twelve hours of one core. Needs numpy and pyacts.
set -eu
out=$1
train=build/examples/etx-train
configs=examples/configs
mkdir -p "$out"

# simulate NAME EVENTS SET SEED [options]
simulate()
{
    name=$1
    events=$2
    set=$3
    seed=$4
    shift 4
    [ -d "$out/$name" ] || PYTHONPATH=bindings/python python3 -m \
        exatrkx.simulate --out "$out/$name" --events "$events" --set "$set" \
        --seed "$seed" "$@"
}
simulate train-medium 80 medium 1000
simulate train-full 6 full 4000
simulate train-full-more 18 full 40000
simulate train-full-most 24 full 60000
simulate valid-medium 10 medium 2000
simulate valid-full 2 full 7000
simulate completion 3 full 11000
simulate robust-medium 20 medium 12000
simulate robust-medium-flat 10 medium 15000 --beam-spot flat --displaced 0.2
simulate robust-full-flat 3 full 13000 --beam-spot flat --displaced 0.2
simulate robust-full-trackml 3 full 14000 --beam-spot trackml --displaced 0.24

# stage CONFIG OUT [options]
stage()
{
    config=$1
    result=$2
    shift 2
    $train --config "$configs/$config.json" --data "$out/train-medium" \
        --data "$out/train-full" --data "$out/train-full-more" \
        --data "$out/train-full-most" \
        --validation "$out/valid-medium" --validation "$out/valid-full" \
        --out "$out/$result.safetensors" --log "$out/$result.jsonl" "$@"
}
stage embedding embedding
stage embedding_again embedding_again --start "$out/embedding.safetensors"
stage filter filter --start "$out/embedding_again.safetensors"
stage filter_again filter_again --start "$out/filter.safetensors"
stage gnn gnn --start "$out/filter_again.safetensors"
stage gnn_again gnn_again --start "$out/gnn.safetensors"
stage gnn_wide gnn_wide --start "$out/gnn_again.safetensors"
stage gnn_wide_again default --start "$out/gnn_wide.safetensors"

# A new embedding with displaced particles in view, the wide filter on its
# candidates, and the graph network of twice the width that starts as the
# one before.
stage embedding_accurate embedding_accurate --start "$out/default.safetensors"
stage filter_accurate filter_accurate \
    --start "$out/embedding_accurate.safetensors"
PYTHONPATH=bindings/python python3 -m exatrkx.widen \
    "$out/filter_accurate.safetensors" --out "$out/wide.safetensors"
stage gnn_accurate gnn_accurate --start "$out/wide.safetensors"
stage gnn_accurate_again sharp --start "$out/gnn_accurate.safetensors"

# The embedding and the filter again, with hits, cells and modules as worse
# detectors have them and beam spots of three lengths.
robust()
{
    config=$1
    result=$2
    shift 2
    for set in medium full-trackml full-flat medium-flat; do
        set -- "$@" --data "$out/robust-$set"
    done
    $train --config "$configs/$config.json" --data "$out/completion" "$@" \
        --validation "$out/valid-full" --out "$out/$result.safetensors"
}
robust embedding_robust embedding_robust --start "$out/sharp.safetensors"
robust filter_robust accurate --start "$out/embedding_robust.safetensors"

# Behind the networks tracks get the hits that they lack; before them a first pass
# finds the long ones.
for model in default accurate; do
    build/examples/etx-learn-completion --data "$out/completion" \
        --model "$out/$model.safetensors" \
        --out "$out/$model.safetensors"
done
