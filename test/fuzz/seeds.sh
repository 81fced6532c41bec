#!/bin/sh
# Write the first inputs of every fuzz target to folders below $1: the
# inputs of corpus/, which earlier runs have found, and some by hand.
set -eu
corpus=$(cd "$(dirname "$0")/corpus" && pwd)
cd "$1"
mkdir -p csv detector gzip safetensors training
for archive in "$corpus"/*.tar.gz; do
    target=$(basename "$archive" .tar.gz)
    mkdir -p "$target"
    tar -xzf "$archive" -C "$target"
done

hits='hit_id,x,y,z,volume_id,layer_id,module_id'
printf 'h%s\n1,-64.4,-7.16,-1502.5,7,2,1\n2,1e-45,-0.0,.5,7,2,1\n' \
    "$hits" >csv/hits
printf 'h\357\273\277%s,extra\r\n1,1,2,3,4,5,6,x\r\n' "$hits" >csv/hits-crlf
printf 'h%s\n1,nan,2,3,4,5,6\n' "$hits" >csv/hits-nan
printf 'chit_id,ch0,ch1,value\n7,1,2,0.5\n3,0,0,1\n' >csv/cells
printf 'thit_id,particle_id,weight\n7,5,0.5\n3,0,0\n' >csv/truth
printf 'pparticle_id,vx,vy,vz,px,py,pz,q,nhits\n5,0,0,0,1,1,1,-1,3\n' \
    >csv/particles
printf 'f0.1,0.5,-0.2\n0.3,-1,0.7\n' >csv/features
printf 'Thit_id,track_id\n7,4503599627370497\n3,0\n' >csv/tracks

head='volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,rot_yu,'
head="${head}rot_yv,rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,pitch_v"
printf '%s\n8,2,1,0,0,0,1,0,0,0,1,0,0,0,1,0.15,0.05,0.05\n' "$head" \
    >detector/one
printf ',%s\n0,8,2,1,0,0,0,0,1,0,1,0,0,0,0,-1,0.15,0.05,0.05\n' "$head" \
    >detector/index
printf '%s\n' "$head" | gzip -n >detector/gzip

printf 'some text, some text, some text\n' | gzip -n >gzip/one
printf '' | gzip -n >gzip/empty
cat gzip/one gzip/empty gzip/one >gzip/members
head -c 100000 /dev/zero | gzip -n >gzip/zeros
head -c 20 gzip/one >gzip/cut

nodes='"node_features":[{"name":"r","scale":1000}]'
mlp='"arch":"mlp","options":{"hidden":[2],"n_out":1,"norm":"none"}'
config="{\"schema\":1,\"embedding\":{$mlp,$nodes,\"graph\":{\"radius\":0.1}}}"
printf 'c%s' "$config" >safetensors/embedding
printf 'c{"schema":1,"filter":{"arch":"edge_filter",%s,"cut":0.1,"edge_features":[{"name":"dr","scale":1}]}}' \
    "$nodes" >safetensors/filter
for net in interaction_network attention_gnn; do
    printf 'c{"schema":1,"gnn":{"arch":"%s","options":{"hidden":4},%s},"label":{"method":"walkthrough","cut":0.5}}' \
        "$net" "$nodes" >safetensors/$net
done
# 1: weights of 2 x 1 and 1 x 2, biases of 2 and 1: 28 bytes, the character \034.
escaped=$(printf '%s' "$config" | sed 's/"/\\"/g')
tensor()
{
    printf '"embedding.layers.%s":{"dtype":"F32","shape":%s,"data_offsets":%s}' \
        "$1" "$2" "$3"
}
{
    printf '\034{"__metadata__":{"etx.config":"%s"},' "$escaped"
    tensor 0.bias '[2]' '[0,8]' && printf ,
    tensor 0.weight '[2,1]' '[8,16]' && printf ,
    tensor 1.bias '[1]' '[16,20]' && printf ,
    tensor 1.weight '[1,2]' '[20,28]' && printf '}'
} >safetensors/whole
printf 'f\002\0\0\0\0\0\0\0{}' >safetensors/nothing

train='"seed":1,"schedule":{"steps":4,"learning_rate":0.01,"warmup_steps":1}'
printf '0{"stage":"embedding",%s,"model":{%s,%s,"graph":{"radius":0.4}},"sampling":{"hits":40,"queries":10,"neighbours":4,"random_pairs":10},"validation":{"target_efficiency":0.9}}' \
    "$train" "$mlp" "$nodes" >training/embedding
edges='"edge_features":[{"name":"dphi","scale":1}]'
printf '1{"stage":"filter",%s,"model":{"arch":"edge_filter","options":{"hidden":[2]},%s,%s,"cut":0.1},"sampling":{"edges":50},"validation":{"target_efficiency":0.9}}' \
    "$train" "$nodes" "$edges" >training/filter
for net in interaction_network attention_gnn graph_convolution; do
    printf '3{"stage":"gnn",%s,"model":{"arch":"%s","options":{"hidden":2,"n_iterations":1},%s},"stability":{"spike_factor":2,"snapshot_every":1},"loss_scaling":{"initial":8}}' \
        "$train" "$net" "$nodes" >training/$net
done
