#!/bin/sh
# Make the events and train the model that ships as
# examples/models/default.safetensors. $1: a folder for events and models;
# about an hour and a half on two cores. Needs numpy and pyacts.
set -eu
out=$1
train=build/examples/etx-train
configs=examples/configs
mkdir -p "$out"

# simulate NAME EVENTS SET SEED
simulate()
{
    [ -d "$out/$1" ] || PYTHONPATH=bindings/python python3 -m \
        exatrkx.simulate --out "$out/$1" --events "$2" --set "$3" --seed "$4"
}
simulate train-medium 80 medium 1000
simulate valid-medium 10 medium 2000
simulate train-full 6 full 4000

medium="--data $out/train-medium"
full="--data $out/train-full"
common="--validation $out/valid-medium"

# The lists of options are meant to split into words.
# shellcheck disable=SC2086
{
    $train --config $configs/embedding.json $medium $full $common \
        --out "$out/embedding.safetensors" --log "$out/embedding.jsonl"
    $train --config $configs/filter.json $medium $full $common \
        --start "$out/embedding.safetensors" \
        --out "$out/filter.safetensors" --log "$out/filter.jsonl"
    $train --config $configs/gnn.json $medium $full $common \
        --start "$out/filter.safetensors" \
        --out "$out/gnn.safetensors" --log "$out/gnn.jsonl"
    # Dense events again, three times as often: the network has most to learn
    # where most candidate edges are false.
    $train --config $configs/gnn_dense.json $full $full $full $medium $common \
        --start "$out/gnn.safetensors" \
        --out "$out/default.safetensors" --log "$out/default.jsonl"
}
