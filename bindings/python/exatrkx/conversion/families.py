"""families -- weights of Exa.TrkX networks under the names of our families.

A torch.nn.Sequential numbers its linear layers, norms and activations alike;
ours numbers layers: `BLOCK.K.weight`, `.bias` and, with a norm, `.gain` and
`.shift`. Sizes come from the arrays; what arrays cannot say comes from the
hyper-parameters of the training, else from the usual setting, which is then
reported.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .facts import ConvertError, StateDict
from .layers import layer_options, one_activation, put
from .source import Block, Source


@dataclass
class Converted:
    """One stage of a model file."""

    options: dict[str, Any]
    tensors: StateDict
    n_node_features: int
    n_edge_features: int = 0


def _vanilla_layers(source: Source) -> Block:
    """input_layer, layers.0 .., output_layer: no Sequential."""
    names = ["input_layer"]
    while f"layers.{len(names) - 1}.weight" in source.state:
        names.append(f"layers.{len(names) - 1}")
    names.append("output_layer")
    return Block(
        "layers",
        [
            {
                "weight": source.pop(f"{name}.weight"),
                "bias": source.pop(f"{name}.bias"),
            }
            for name in names
        ],
        after=[source.after(name) for name in names],
    )


def _vanilla_activation(source: Source, default: str) -> str:
    """Of the module `act`, or after the second layer of an ONNX graph."""
    kind = source.facts.kinds.get(source.head + "act")
    for found in source.facts.after.get("layers.0", []):
        kind = found if found not in ("LayerNorm", "BatchNorm1d") else kind
    names = "activation hidden_activation"
    return one_activation(source, names, default, [kind] if kind else [])


def convert_mlp(source: Source) -> Converted:
    """Metric learning: LayerlessEmbedding and its kin."""
    options: dict[str, Any] = {}
    names = "activation hidden_activation"
    if source.has("input_layer"):
        block = _vanilla_layers(source)
        for name in ("layernorm", "batchnorm"):
            if source.facts.calls(name):
                raise ConvertError(f"{name}: of an embedding with layers.0 ..")
            source.drop(name, "not used by the network")
        options = {"activation": _vanilla_activation(source, "Tanh"), "norm": "none"}
    else:
        block = source.only_block()
        options = layer_options(source, [block], names, "Tanh", bare=(block,))
    options |= {"hidden": block.widths[:-1], "n_out": block.widths[-1]}
    if _has_unit_length(source):
        options["normalize_output"] = True
    tensors: StateDict = {}
    put(tensors, "layers", block)
    return Converted(options, tensors, block.n_in)


def _has_unit_length(source: Source) -> bool:
    """Whether the points are divided by their length: `norm` in the regime of
    Exa.TrkX, always in acorn."""
    if source.facts.code:
        return "normalize(" in source.facts.code or "linalg_vector_norm" in (
            source.facts.code
        )
    regime = source.hparams.get("regime")
    if regime is not None:
        return "norm" in regime
    if source.hparams.get("model") == "MetricLearning":
        return True
    if "normalize_output" not in source.given:
        source.note("no regime given: taking an output that is not normalised")
    return False


def convert_edge_filter(source: Source) -> Converted:
    """VanillaFilter, and filters that are one Sequential."""
    tensors: StateDict = {}
    options: dict[str, Any]
    if source.has("input_layer"):
        block = _vanilla_layers(source)
        if source.facts.code and not source.facts.calls("layernorm"):
            source.drop("layernorm", "not used by the network")
        elif source.has("layernorm"):
            tensors["norm.gain"] = source.pop("layernorm.weight")
            tensors["norm.shift"] = source.pop("layernorm.bias")
        if source.facts.calls("batchnorm"):
            raise ConvertError("batchnorm: of a filter with layers.0 ..")
        source.drop("batchnorm", "not used by VanillaFilter")
        options = {"style": "vanilla", "norm": "layer" if tensors else "none"}
        options["activation"] = _vanilla_activation(source, "Tanh")
    else:
        block = source.only_block()
        names = "hidden_activation activation"
        options = {"style": "mlp"}
        options |= layer_options(source, [block], names, "SiLU", bare=(block,))
    if block.widths[-1] != 1:
        raise ConvertError(f"the filter ends with {block.widths[-1]} values, not 1")
    options["hidden"] = block.widths[:-1]
    put(tensors, "layers", block)
    n_nodes, rest = divmod(block.n_in - source.n_edge_features, 2)
    if rest != 0:
        raise ConvertError(
            f"the filter reads {block.n_in} values, which are no two nodes and "
            f"{source.n_edge_features} edge features"
        )
    return Converted(options, tensors, n_nodes, source.n_edge_features)


def convert_attention_gnn(source: Source) -> Converted:
    """ResAGNN; without the shortcut AGNN."""
    is_lrt = source.has("input_network")
    encoder = source.block("node_encoder", "input_network")
    edge = source.block("edge_network")
    node = source.block("node_network")
    hidden = encoder.widths[-1]
    n_in = encoder.n_in
    if edge.n_in not in (2 * hidden, 2 * (hidden + n_in)) or edge.n_in != node.n_in:
        raise ConvertError(
            f"edge_network reads {edge.n_in} and node_network {node.n_in} values, "
            f"expected {2 * hidden} or {2 * (hidden + n_in)} of both"
        )
    options = {
        "hidden": hidden,
        "n_iterations": _n_iterations(source, []),
        "encoder_hidden": encoder.widths[:-1],
        "edge_hidden": edge.widths[:-1],
        "node_hidden": node.widths[:-1],
        **layer_options(
            source,
            [encoder, edge, node],
            "hidden_activation",
            "ReLU",
            bare=(edge, node),
            same_end=(encoder,),
        ),
        "input_shortcut": edge.n_in != 2 * hidden,
        "node_input": "messages_node" if is_lrt else "node_messages",
    }
    tensors: StateDict = {}
    put(tensors, "node_encoder", encoder)
    put(tensors, "edge_network", edge)
    put(tensors, "node_network", node)
    return Converted(options, tensors, n_in)


def _n_iterations(source: Source, listed: list[list[Block]]) -> int:
    """From lists of blocks, the file, or the setting; they must agree."""
    found = {f"{blocks[0].name} ..": len(blocks) for blocks in listed}
    module = source.facts.settings.get("n_graph_iters")
    if module is not None:
        found[f"n_graph_iters of the {source.facts.origin}"] = int(module)
    elif not listed and (calls := source.facts.calls("node_network")) > 1:
        found[f"the {source.facts.origin}"] = calls
    if source.hparams.get("n_graph_iters") is not None:
        found["n_graph_iters"] = int(source.hparams["n_graph_iters"])
    if not found:
        return int(source.setting("n_graph_iters", 8))
    if len(set(found.values())) > 1:
        source.refuse(f"the numbers of iterations differ: {found}", "n_iterations")
    return next(iter(found.values()))


def convert_interaction_network(source: Source) -> Converted:
    """InteractionGNN of Exa.TrkX and acorn, InteractionGNN2 of acorn."""
    second = source.has("edge_decoder")
    decoder = source.block("edge_decoder" if second else "output_edge_classifier")
    transform = source.block("edge_output_transform") if second else None
    node_encoder = source.block("node_encoder")
    edge_encoder = source.block("edge_encoder")
    nodes, node_recurrent = source.blocks("node_network", "node_networks")
    edges, edge_recurrent = source.blocks("edge_network", "edge_networks")
    for name, found in (
        ("node_net_recurrent", node_recurrent),
        ("edge_net_recurrent", edge_recurrent),
    ):
        _agree(source, name, found, "the weights")
    hidden = node_encoder.widths[-1]
    blocks = [node_encoder, edge_encoder, *nodes, *edges, decoder]
    blocks += [transform] if transform else []
    lists = [
        f for f, one in ((nodes, node_recurrent), (edges, edge_recurrent)) if not one
    ]
    widths = _Widths(
        hidden, node_encoder.n_in, edge_encoder.n_in, nodes[0].n_in, edges[0].n_in
    )
    options: dict[str, Any] = {
        "hidden": hidden,
        "n_iterations": _n_iterations(source, lists),
        "encoder_layers": len(node_encoder.layers),
        "edge_encoder_layers": len(edge_encoder.layers),
        "node_layers": len(nodes[0].layers),
        "edge_layers": len(edges[0].layers),
        "decoder_layers": len(decoder.layers),
        **layer_options(
            source, blocks, "hidden_activation", "SiLU", bare=(transform or decoder,)
        ),
        "node_recurrent": node_recurrent,
        "edge_recurrent": edge_recurrent,
    }
    if transform is not None:
        options |= {"transform_layers": len(transform.layers)}
    options |= _second_steps(source, widths) if second else _first_steps(source, widths)
    tensors: StateDict = {}
    put(tensors, "node_encoder", node_encoder)
    put(tensors, "edge_encoder", edge_encoder)
    for name, many, shared in (
        ("node_network", nodes, node_recurrent),
        ("edge_network", edges, edge_recurrent),
    ):
        for number, block in enumerate(many):
            put(tensors, name if shared else f"{name}.{number}", block)
    put(tensors, "decoder", decoder)
    if transform is not None:
        put(tensors, "transform", transform)
    n_edge = edge_encoder.n_in if options["edge_from_features"] else 0
    return Converted(options, tensors, node_encoder.n_in, n_edge)


@dataclass
class _Widths:
    """What the blocks of an interaction network read."""

    hidden: int
    node_encoder: int
    edge_encoder: int
    node: int
    edge: int

    @property
    def n_messages(self) -> int:
        """Aggregates that node_network reads besides one latent."""
        return self.node // self.hidden - 1


def _agree(source: Source, name: str, found: Any, where: str) -> None:
    stated = source.hparams.get(name)
    if stated is not None and bool(stated) != bool(found):
        raise ConvertError(f"{name} is {stated}, but {where} have {found}")


PAIRS = {  # Exa.TrkX, in the order of its code
    "sum_max": ["max", "sum"],
    "mean_sum": ["mean", "sum"],
    "mean_max": ["max", "mean"],
}


def _aggregation(source: Source, widths: _Widths) -> tuple[list[str], bool]:
    """What is aggregated, and whether at both ends, as in acorn."""
    n = widths.n_messages
    if "aggregation" in source.given:
        return [], n == 2 * len(source.given["aggregation"])
    stated = source.hparams.get("aggregation") or _aggregation_in_code(source)
    if stated is None and source.hparams.get("model") == "InteractionGNN":
        stated = "sum"
        source.note('no aggregation given: taking acorn\'s default, ["sum"]')
    if stated is None:
        raise ConvertError(
            f"no aggregation given, and node_network reads {n} aggregates: sum_max "
            "of Exa.TrkX, sum of acorn or others; --hparams or --options can state "
            '"aggregation"'
        )
    if isinstance(stated, str) and stated in PAIRS:
        kinds, both = PAIRS[stated], False
    elif isinstance(stated, str):
        kinds, both = [stated], n == 2
    else:
        kinds, both = [str(kind) for kind in stated], True
    kinds = ["sum" if kind == "add" else kind for kind in kinds]
    if n != len(kinds) * (2 if both else 1):
        raise ConvertError(f"aggregation is {stated}, but node_network reads {n}")
    for kind in kinds:
        if kind not in ("sum", "mean", "max", "std"):
            source.refuse(f"aggregation: {kind} cannot be represented", "aggregation")
    if "std" in kinds:
        source.refuse(
            "aggregation: std of acorn (torch_geometric) divides by the number of "
            "edges, the library's by one less; it cannot be represented",
            "aggregation",
        )
    return kinds, both


def _aggregation_in_code(source: Source) -> str | list[str] | None:
    """By the calls of torch_scatter."""
    kinds = set(re.findall(r"scatter_(max|add|sum|mean)\b", source.facts.code))
    kinds = {"sum" if kind == "add" else kind for kind in kinds}
    for name, pair in PAIRS.items():
        if kinds == set(pair):
            return name
    return kinds.pop() if len(kinds) == 1 else None


def _first_steps(source: Source, widths: _Widths) -> dict[str, Any]:
    """InteractionGNN: encode edges from encoded nodes, nodes first."""
    if widths.edge_encoder != 2 * widths.hidden or widths.edge != 3 * widths.hidden:
        raise ConvertError(
            f"edge_encoder reads {widths.edge_encoder} and edge_network "
            f"{widths.edge} values, expected {2 * widths.hidden} and "
            f"{3 * widths.hidden}"
        )
    kinds, acorn = _aggregation(source, widths)
    return {
        "edge_update": "new" if acorn else _edge_update(source),
        "aggregation": kinds,
        "aggregate_at": "both" if acorn else "target",
        "node_residual": not acorn,
        "edge_residual": not acorn,
        "edge_from_latents": True,
        "edge_from_nodes": False,
        "edge_from_features": False,
        "direction": _direction(source, acorn),
    }


def _edge_update(source: Source) -> str:
    """Of Exa.TrkX: whether edges see the nodes before or after their update."""
    code = source.facts.code
    updated = re.search(r"(\w+) = .*node_network\)?\.forward\(", code)
    if updated:
        rest = code[updated.end() :]
        rest = rest[: rest.find("edge_network)")]
        seen = set(re.findall(r"index(?:_select)?\((\w+), ", rest))
        return "new" if updated[1] in seen else "old"
    if "edge_update" not in source.given:
        source.note(
            'taking "edge_update": "old" of Exa.TrkX\'s TrackML example; its '
            'Common_Tracking example wants --options \'{"edge_update": "new"}\''
        )
    return "old"


def _direction(source: Source, acorn: bool) -> str:
    """acorn doubles edges where `undirected` is set, Exa.TrkX where `directed`
    is not."""
    if "direction" in source.given:
        return "directed"
    if source.facts.code:
        ends = re.findall(r"(\w+) = .*select\(edge_index, ", source.facts.code)
        doubled = any(
            re.search(rf"torch\.cat\(\[{a}, {b}\]", source.facts.code)
            for a in ends
            for b in ends
        )
        twice = "doubled_mean" if acorn else "doubled_first_half"
        return twice if doubled else "directed"
    if acorn:
        undirected = source.hparams.get("undirected")
        dataset = source.hparams.get("dataset_class")
        if undirected and dataset == "HeteroGraphDataset":
            source.refuse(f"undirected with dataset_class {dataset}", "direction")
        if undirected is None:
            source.note("no undirected given: taking False, acorn's default")
        return "doubled_mean" if undirected else "directed"
    directed = source.hparams.get("directed")
    if directed is None:
        source.note("no directed given: taking False, Exa.TrkX's default")
    return "directed" if directed else "doubled_first_half"


def _second_steps(source: Source, widths: _Widths) -> dict[str, Any]:
    """InteractionGNN2: encode edges from their own features, edges first."""
    hidden = widths.hidden
    latents = {3 * hidden: 1, 6 * hidden: 2}.get(widths.edge, 0)
    messages = widths.node // hidden - latents
    if not latents or messages not in (1, 2) or widths.node % hidden:
        raise ConvertError(
            f"edge_network reads {widths.edge} and node_network {widths.node} values, "
            f"which are no latents of {hidden}"
        )
    _agree(source, "concat", latents == 2, "the weights")
    _agree(source, "in_out_diff_agg", messages == 2, "the weights")
    final = source.hparams.get("edge_output_transform_final_activation")
    if final is not None:
        source.refuse(
            f"edge_output_transform_final_activation: {final} cannot be represented",
            "transform_layers",
        )
    listed = source.hparams.get("edge_features")
    bare = source.n_edge_features == 0 and widths.edge_encoder == 2 * hidden
    from_latents = bare and not listed
    if listed and len(listed) != widths.edge_encoder:
        raise ConvertError(
            f"edge_features lists {len(listed)}, edge_encoder reads "
            f"{widths.edge_encoder}"
        )
    if widths.node_encoder == 12:
        source.note(
            "acorn copies the first 4 of 12 node features over the others for "
            "hits of the strip endcaps: give these hits their own position as "
            "that of both clusters"
        )
    return {
        "edge_update": "first",
        "aggregation": ["sum"],
        "aggregate_at": "both" if messages == 2 else "both_summed",
        "node_residual": False,
        "edge_residual": False,
        "concat_initial": latents == 2,
        "edge_from_latents": from_latents,
        "edge_from_nodes": False,
        "edge_from_features": not from_latents,
        "decoder_input": "edge",
        "edge_input": "edge_nodes",
        "node_input": "messages_node",
    }


STAGES = {
    "mlp": "embedding",
    "edge_filter": "filter",
    "attention_gnn": "gnn",
    "interaction_network": "gnn",
}

CONVERTERS: dict[str, Callable[[Source], Converted]] = {
    "mlp": convert_mlp,
    "edge_filter": convert_edge_filter,
    "attention_gnn": convert_attention_gnn,
    "interaction_network": convert_interaction_network,
}
