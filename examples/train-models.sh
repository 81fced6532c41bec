#!/bin/sh
# Make the events and train models like those that ship in examples/models,
# default.safetensors, positions.safetensors, accurate.safetensors, chain.safetensors,
# pixels.safetensors and odd.safetensors.
# $1: a folder for events and models. All but chain and pixels takes about five hours of
# two cores, two and a half of them up to positions. Further arguments go to every
# training (--threads 2). Where it was stopped it goes on when it is run again; a
# training that is done is only validated once more.
# Needs numpy, pyacts and pythia8mc.
set -eu
out=$1
shift
train="build/examples/etx-train $*"
configs=examples/configs/models
training='train-medium train-full train-full-more train-full-most robust-medium
robust-full-trackml robust-full-flat robust-medium-flat'
mkdir -p "$out"
export PYTHONPATH=bindings/python ETX_LIBRARY="${ETX_LIBRARY:-lib/libexatrkx.so}"

# simulate NAME EVENTS SIZE SEED [options]; SIZE: a set by name, or a number of collisions
simulate()
{
    name=$1
    events=$2
    size="--set $3"
    [ -n "${3##[0-9]*}" ] || size="--pileup $3"
    seed=$4
    shift 4
    [ ! -d "$out/$name" ] || return 0
    # The words of $size are meant to split.
    # shellcheck disable=SC2086
    python3 -m exatrkx simulate --out "$out/$name.part" \
        --events "$events" $size --seed "$seed" "$@"
    mv "$out/$name.part" "$out/$name"
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
    [ ! -f "$out/$result.safetensors.checkpoint" ] || set -- "$@" --resume
    for set in $training; do
        set -- "$@" --data "$out/$set"
    done
    $train --config "$configs/$config.json" --validation "$out/valid-medium" \
        --validation "$out/valid-full" \
        --out "$out/$result.safetensors" --log "$out/$result.jsonl" "$@"
}

# adjust FROM TO KEY=VALUE...: other options
adjust()
{
    from=$1
    to=$2
    shift 2
    python3 -m exatrkx adjust "$out/$from.safetensors" \
        --out "$out/$to.safetensors" "$@"
}

# What completes tracks and the first pass are learned from true tracks; the model
# file that holds them begins with an embedding. From here on the networks see what
# the first pass leaves of large events: they learn from whole small ones, too. One
# embedding serves all models.
stage embedding_first embedding_first
build/examples/etx-learn-completion --data "$out/completion" \
    --model "$out/embedding_first.safetensors" --out "$out/tables_learned.safetensors"
adjust tables_learned tables first_pass.min_event_hits=50000
stage embedding embedding --start "$out/tables.safetensors"

adjust embedding default_embedding embedding.graph.radius=0.42 \
    embedding.graph.max_edges_per_hit=80
stage filter filter --start "$out/default_embedding.safetensors"
adjust filter filter_bounded filter.cut=0.003 filter.max_edges_per_hit=10
stage gnn gnn --start "$out/filter_bounded.safetensors"
stage gnn_last gnn_last --start "$out/gnn.safetensors"
adjust gnn_last default_large filter.max_edges_per_hit=8

# The same networks without the features of cells.
adjust default_large positions_start --without-cells filter.cut=0.001 \
    filter.max_edges_per_hit=16
stage filter_positions filter_positions --start "$out/positions_start.safetensors"
stage gnn_positions gnn_positions --start "$out/filter_positions.safetensors"
adjust gnn_positions positions_large first_pass.min_event_hits=0

# The filter on the candidates of a wider radius, and the graph network of twice the
# width that starts as the one of default.
adjust default_large accurate_embedding embedding.graph.radius=0.6 \
    embedding.graph.max_edges_per_hit=150
stage filter_accurate filter_accurate --start "$out/accurate_embedding.safetensors"
adjust filter_accurate accurate_bounded filter.cut=0.003 filter.max_edges_per_hit=14
python3 -m exatrkx widen "$out/accurate_bounded.safetensors" \
    --out "$out/wide.safetensors"
stage gnn_accurate gnn_accurate --start "$out/wide.safetensors"
stage gnn_accurate_last accurate_large --start "$out/gnn_accurate.safetensors"

# Everything that collisions have: jets, tau leptons, top pairs.
mixture='chain-full chain-full-more chain-field chain-top-few chain-top chain-top-many
chain-top-most chain-dijets chain-jets chain-jets-more chain-jets-wide chain-jets-away
chain-cores chain-cores-more chain-taus chain-taus-more chain-displaced
dense-top dense-top-less dense-full'
simulate chain-full 6 full 501000 --beam-spot trackml --displaced 0.24
simulate chain-full-more 5 full 801000 --beam-spot trackml --displaced 0.24
simulate chain-field 2 full 505000 --beam-spot trackml --displaced 0.24 --field trackml
simulate chain-top-few 2 20 520000 --process top-pairs --merge --secondaries
simulate chain-top 2 80 522000 --process top-pairs --merge --secondaries
simulate chain-top-many 2 180 523000 --process top-pairs --merge --secondaries
simulate chain-top-most 2 200 823000 --process top-pairs --merge --secondaries
simulate chain-dijets 6 20 521000 --process dijets --merge --secondaries
simulate chain-jets 6 6 511000 --gun jet:n=4,particles=15,cone=0.08,low=0.7,high=60 --merge
simulate chain-jets-more 8 8 811000 \
    --gun jet:n=4,particles=20,cone=0.07,low=0.7,high=80 --merge
simulate chain-jets-wide 3 10 514000 --gun jet:n=10 --merge
simulate chain-jets-away 2 10 515000 \
    --gun jet:n=6,particles=8,cone=0.1,low=0.7,high=50,radius=200 --merge
simulate chain-cores 4 20 513000 --gun core:n=10 --merge
simulate chain-cores-more 4 20 813000 --gun core:n=10 --merge
simulate chain-taus 12 10 512000 --gun tau:n=20 --merge
simulate chain-taus-more 8 10 812000 --gun tau:n=20 --merge
simulate chain-displaced 8 medium 516000 --displaced 0.4 --decays 0.3 --merge --secondaries
simulate dense-top 8 200 901000 --process top-pairs --merge --secondaries
simulate dense-top-less 4 150 902000 --process top-pairs --merge --secondaries
simulate dense-full 8 full 903000 --beam-spot trackml --displaced 0.24
simulate dense-medium 40 medium 904000

# The last trainings of these three: all of it, and what they saw before. Half of
# the events lose the hits of the first pass. The graph networks learn from more edges
# than they get in the end.
training="$mixture train-medium dense-medium train-full robust-medium robust-full-flat"
adjust default_large default_start first_pass.min_event_hits=0
stage filter_mixed filter_mixed --start "$out/default_start.safetensors"
adjust filter_mixed default_dense embedding.graph.max_edges_per_hit=100 \
    filter.cut=0.03 filter.max_edges_per_hit=14
adjust accurate_large accurate_start first_pass.min_event_hits=0
stage filter_accurate_mixed filter_accurate_mixed --start "$out/accurate_start.safetensors"
adjust filter_accurate_mixed accurate_dense embedding.graph.max_edges_per_hit=220 \
    filter.cut=0.05 filter.max_edges_per_hit=24
stage filter_positions_mixed filter_positions_mixed --start "$out/positions_large.safetensors"
adjust filter_positions_mixed positions_dense embedding.graph.max_edges_per_hit=100 \
    filter.cut=0.03 filter.max_edges_per_hit=24
# On a GPU (DEVICE=cuda) the rest takes half an hour, on a core days.
train="$train --device ${DEVICE:-cpu}"
stage gnn_mixed gnn_mixed --start "$out/default_dense.safetensors"
adjust gnn_mixed default filter.cut=0.003 filter.max_edges_per_hit=10 \
    label.strong_cut=0.7 completion.max_random=0.15
stage gnn_accurate_mixed gnn_accurate_mixed --start "$out/accurate_dense.safetensors"
adjust gnn_accurate_mixed accurate filter.cut=0.003 filter.max_edges_per_hit=20 \
    label.strong_cut=0.7 completion.max_random=0.15
stage gnn_positions_mixed gnn_positions_mixed --start "$out/positions_dense.safetensors"
adjust gnn_positions_mixed positions filter.cut=0.003 filter.max_edges_per_hit=16 \
    label.strong_cut=0.7 completion.max_random=0.15 completion.min_pt=0.15

# The chain of the papers: embedding, filter, graph network and connected components,
# with nothing before or after them. It has to find everything itself, so it learns
# from all hits.
simulate chain-full-most 22 full 701000 --beam-spot trackml --displaced 0.24
simulate chain-full-displaced 7 full 703000 --beam-spot trackml --displaced 0.5
training="$mixture chain-full-most chain-full-displaced"
adjust accurate chain_start --networks-only
stage embedding_chain embedding_chain --start "$out/chain_start.safetensors"
stage filter_chain filter_chain --start "$out/embedding_chain.safetensors"
python3 -m exatrkx widen "$out/filter_chain.safetensors" \
    --out "$out/chain_wide.safetensors"
stage gnn_chain chain --start "$out/chain_wide.safetensors"

# The pixel detector alone: events whose strips are dead, and particles of three hits.
# Completion and first pass take tracks of four layers; without the strips far more hits
# meet four by chance, so that the first pass takes the sure ones.
simulate pixels-full 24 full 701000 --beam-spot trackml --displaced 0.24 \
    --dead-volumes 12 13 14 16 17 18
simulate pixels-long 3 full 702000 --dead-volumes 12 13 14 16 17 18
simulate pixels-top 9 160 711000 --process top-pairs --merge --secondaries \
    --dead-volumes 12 13 14 16 17 18
simulate pixels-completion 4 full 741000 --beam-spot trackml --displaced 0.24 \
    --dead-volumes 12 13 14 16 17 18
training='pixels-full pixels-long pixels-top'
adjust accurate pixels_start --networks-only \
    embedding.graph.max_edges_per_hit=120
stage filter_pixels filter_pixels --start "$out/pixels_start.safetensors"
adjust filter_pixels pixels_bounded filter.cut=0.003 filter.max_edges_per_hit=20
stage gnn_pixels gnn_pixels --start "$out/pixels_bounded.safetensors"
build/examples/etx-learn-completion --data "$out/pixels-completion" --min-layers 4 \
    --model "$out/gnn_pixels.safetensors" --out "$out/pixels_completed.safetensors"
adjust pixels_completed pixels filter.max_edges_per_hit=16 first_pass.min_layers=4 \
    first_pass.max_random=0.003 completion.passes=2

# The Open Data Detector, without cells, as ColliderML has it; ADAPT_TIME: CPU seconds.
simulate odd 16 60 8001 --detector open-data --process top-pairs --secondaries
rm -f "$out"/odd/*-cells.csv*
adjust positions odd_start label.strong_cut=0.6 completion.max_random=0.3 completion.min_pt=0.3
[ -f "$out/odd_adapted.safetensors" ] || python3 -m exatrkx adapt "$out/odd" \
    --out "$out/odd_adapted.safetensors" --start "$out/odd_start.safetensors" \
    --time "${ADAPT_TIME:-900}"
adjust odd_adapted odd completion.passes=2 label.strong_cut=0.8
