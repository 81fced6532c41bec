"""_families -- weights of Exa.TrkX networks under the names of our families.

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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._state_dict import ConvertError, Hparams, StateDict

WRAPPERS = ("model.", "module.", "_orig_mod.", "gnn.", "net_module.")


@dataclass
class Block:
    """A perceptron: its layers, and how they are normalised."""

    layers: list[dict[str, np.ndarray]] = field(default_factory=list)
    step: int = 0  # of torch's numbering from one linear to the next

    @property
    def widths(self) -> list[int]:
        return [layer["weight"].shape[0] for layer in self.layers]

    @property
    def n_in(self) -> int:
        return self.layers[0]["weight"].shape[1]

    @property
    def has_affine_norm(self) -> bool:
        return any("gain" in layer for layer in self.layers)


@dataclass
class Converted:
    """One stage of a model file."""

    options: dict[str, Any]
    tensors: StateDict
    n_node_features: int
    n_edge_features: int = 0


class Source:
    """The weights and settings to convert; every array is taken once."""

    def __init__(
        self,
        state: StateDict,
        hparams: Hparams,
        note: Callable[[str], None],
        n_edge_features: int = 0,
    ) -> None:
        self.state = _unwrap(state)
        self.hparams = hparams
        self.note = note
        self.n_edge_features = n_edge_features

    def setting(self, names: str, default: Any) -> Any:
        """The first of these hyper-parameters, or the default with a note."""
        for name in names.split():
            if self.hparams.get(name) is not None:
                return self.hparams[name]
        self.note(f"no {names.split()[0]} given: taking {default!r}")
        return default

    def has(self, prefix: str) -> bool:
        return any(name.startswith(prefix + ".") for name in self.state)

    def block(self, *prefixes: str) -> Block:
        """The torch.nn.Sequential under the first of these names."""
        for prefix in prefixes:
            for inner in ("", ".network", ".net"):
                if f"{prefix}{inner}.0.weight" in self.state:
                    return self._pop_sequential(f"{prefix}{inner}.")
        raise ConvertError(f"there are no weights {prefixes[0]}.0.weight")

    def blocks(self, name: str) -> list[Block]:
        """One Sequential, or one for every iteration in a ModuleList."""
        if f"{name}.0.0.weight" not in self.state:
            return [self.block(name)]
        found = []
        while f"{name}.{len(found)}.0.weight" in self.state:
            found.append(self._pop_sequential(f"{name}.{len(found)}."))
        return found

    def only_block(self) -> Block:
        """The one Sequential of the network, whatever it is called."""
        heads = {
            name[: match.start()]
            for name in self.state
            if (match := re.search(r"\d+\.(weight|bias)$", name))
        }
        if len(heads) != 1:
            raise ConvertError(
                f"expected one sequence of layers, found {sorted(heads) or 'none'}"
            )
        return self._pop_sequential(heads.pop())

    def pop(self, name: str) -> np.ndarray:
        if name not in self.state:
            raise ConvertError(f"there are no weights {name}")
        return self.state.pop(name)

    def finish(self) -> None:
        """Refuse unused weights: the network would compute something else."""
        if self.state:
            raise ConvertError(
                "weights that this family does not use: "
                + ", ".join(sorted(self.state)[:5])
            )

    def _pop_sequential(self, head: str) -> Block:
        numbers = sorted(
            {
                int(match.group(1))
                for name in self.state
                if (match := re.match(re.escape(head) + r"(\d+)\.", name))
            }
        )
        block = Block()
        linear = []
        for number in numbers:
            weight = self.pop(f"{head}{number}.weight")
            bias = self.pop(f"{head}{number}.bias")
            if weight.ndim == 2:
                block.layers.append({"weight": weight, "bias": bias})
                linear.append(number)
            elif block.layers and "gain" not in block.layers[-1]:
                block.layers[-1] |= {"gain": weight, "shift": bias}
            else:
                raise ConvertError(f"{head}{number} is neither linear nor norm")
        if not block.layers:
            raise ConvertError(f"there is no linear layer in {head[:-1]}")
        if len(linear) > 1:
            block.step = linear[1] - linear[0]
        return block


def _unwrap(state: StateDict) -> StateDict:
    state = dict(state)
    while True:
        shared = [
            head for head in WRAPPERS if all(name.startswith(head) for name in state)
        ]
        if not shared:
            return state
        state = {name[len(shared[0]) :]: value for name, value in state.items()}


def _put(tensors: StateDict, name: str, block: Block) -> None:
    for number, layer in enumerate(block.layers):
        for kind, value in layer.items():
            tensors[f"{name}.{number}.{kind}"] = value


def _activation(source: Source, names: str, default: str) -> str:
    text = str(source.setting(names, default)).lower()
    return {"swish": "silu", "identity": "none"}.get(text, text)


def _norm(blocks: list[Block]) -> dict[str, Any]:
    """How hidden layers are normalised. A Sequential that steps by three and
    has no weights in between has norms without any; LayerNorm is assumed."""
    if any(block.has_affine_norm for block in blocks):
        return {"norm": "layer"}
    if any(block.step == 3 for block in blocks):
        return {"norm": "layer", "norm_affine": False}
    return {"norm": "none"}


def _bare_end(block: Block, name: str) -> None:
    if "gain" in block.layers[-1]:
        raise ConvertError(f"{name}: the last layer has a norm, expected none")


def _vanilla_layers(source: Source) -> Block:
    """input_layer, layers.0 .., output_layer: no Sequential."""
    names = ["input_layer"]
    while f"layers.{len(names) - 1}.weight" in source.state:
        names.append(f"layers.{len(names) - 1}")
    names.append("output_layer")
    return Block(
        [
            {
                "weight": source.pop(f"{name}.weight"),
                "bias": source.pop(f"{name}.bias"),
            }
            for name in names
        ]
    )


def convert_mlp(source: Source) -> Converted:
    """Metric learning: LayerlessEmbedding and its kin."""
    if source.has("input_layer"):
        block = _vanilla_layers(source)
        if source.has("layernorm"):
            source.note("layernorm is in the file and not used by the network")
            source.state.pop("layernorm.weight", None)
            source.state.pop("layernorm.bias", None)
    else:
        block = source.only_block()
    _bare_end(block, "the embedding")
    options = {
        "hidden": block.widths[:-1],
        "n_out": block.widths[-1],
        "activation": _activation(source, "activation hidden_activation", "Tanh"),
        **_norm([block]),
    }
    if "norm" in (source.hparams.get("regime") or []):
        options["normalize_output"] = True
    tensors: StateDict = {}
    _put(tensors, "layers", block)
    return Converted(options, tensors, block.n_in)


def convert_edge_filter(source: Source) -> Converted:
    """VanillaFilter, and filters that are one Sequential."""
    tensors: StateDict = {}
    if source.has("input_layer"):
        block = _vanilla_layers(source)
        if source.has("layernorm"):
            tensors["norm.gain"] = source.pop("layernorm.weight")
            tensors["norm.shift"] = source.pop("layernorm.bias")
        options: dict[str, Any] = {"style": "vanilla", "activation": "tanh"}
        options["norm"] = "layer" if tensors else "none"
    else:
        block = source.only_block()
        _bare_end(block, "the filter")
        activation = _activation(source, "hidden_activation activation", "SiLU")
        options = {"style": "mlp", "activation": activation, **_norm([block])}
    if block.widths[-1] != 1:
        raise ConvertError(f"the filter ends with {block.widths[-1]} values, not 1")
    options["hidden"] = block.widths[:-1]
    _put(tensors, "layers", block)
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
    _bare_end(edge, "edge_network")
    _bare_end(node, "node_network")
    options = {
        "hidden": hidden,
        "n_iterations": int(source.setting("n_graph_iters", 8)),
        "encoder_hidden": encoder.widths[:-1],
        "edge_hidden": edge.widths[:-1],
        "node_hidden": node.widths[:-1],
        "activation": _activation(source, "hidden_activation", "ReLU"),
        **_norm([encoder, edge, node]),
        "input_shortcut": edge.n_in != 2 * hidden,
        "node_input": "messages_node" if is_lrt else "node_messages",
    }
    tensors: StateDict = {}
    _put(tensors, "node_encoder", encoder)
    _put(tensors, "edge_network", edge)
    _put(tensors, "node_network", node)
    return Converted(options, tensors, n_in)


def convert_interaction_network(source: Source) -> Converted:
    """InteractionGNN of Exa.TrkX and acorn, InteractionGNN2 of acorn."""
    second = source.has("edge_decoder")
    decoder = source.block("edge_decoder" if second else "output_edge_classifier")
    transform = source.block("edge_output_transform") if second else None
    node_encoder = source.block("node_encoder")
    edge_encoder = source.block("edge_encoder")
    nodes = source.blocks("node_network")
    edges = source.blocks("edge_network")
    hidden = node_encoder.widths[-1]
    blocks = [node_encoder, edge_encoder, *nodes, *edges, decoder]
    options: dict[str, Any] = {
        "hidden": hidden,
        "n_iterations": _n_iterations(source, nodes, edges),
        "encoder_layers": len(node_encoder.layers),
        "edge_encoder_layers": len(edge_encoder.layers),
        "node_layers": len(nodes[0].layers),
        "edge_layers": len(edges[0].layers),
        "decoder_layers": len(decoder.layers),
        "activation": _activation(source, "hidden_activation", "SiLU"),
        **_norm(blocks),
        "node_recurrent": len(nodes) == 1,
        "edge_recurrent": len(edges) == 1,
    }
    if transform is not None:
        options |= {"transform_layers": len(transform.layers)}
    options |= _second_steps(source) if second else _first_steps(source)
    tensors: StateDict = {}
    _put(tensors, "node_encoder", node_encoder)
    _put(tensors, "edge_encoder", edge_encoder)
    for name, found in (("node_network", nodes), ("edge_network", edges)):
        for number, block in enumerate(found):
            _put(tensors, name if len(found) == 1 else f"{name}.{number}", block)
    _put(tensors, "decoder", decoder)
    if transform is not None:
        _put(tensors, "transform", transform)
    n_edge = edge_encoder.n_in if second else 0
    return Converted(options, tensors, node_encoder.n_in, n_edge)


def _n_iterations(source: Source, nodes: list[Block], edges: list[Block]) -> int:
    listed = max(len(nodes), len(edges))
    if listed > 1:
        return listed
    return int(source.setting("n_graph_iters", 8))


def _first_steps(source: Source) -> dict[str, Any]:
    """InteractionGNN: encode edges from encoded nodes, nodes first."""
    aggregation = source.setting("aggregation", "sum_max")
    acorn = isinstance(aggregation, list)
    orders = {
        "sum_max": ["max", "sum"],
        "mean_sum": ["mean", "sum"],
        "mean_max": ["max", "mean"],
    }
    directed = bool(source.hparams.get("directed", False))
    doubled = "doubled_mean" if acorn else "doubled_first_half"
    return {
        "edge_update": "new" if acorn else "old",
        "aggregation": aggregation if acorn else orders.get(aggregation, [aggregation]),
        "aggregate_at": "both" if acorn else "target",
        "node_residual": not acorn,
        "edge_residual": not acorn,
        "edge_from_latents": True,
        "edge_from_nodes": False,
        "edge_from_features": False,
        "direction": "directed" if directed else doubled,
    }


def _second_steps(source: Source) -> dict[str, Any]:
    """InteractionGNN2: encode edges from their own features, edges first."""
    differ = bool(source.setting("in_out_diff_agg", True))
    return {
        "edge_update": "first",
        "aggregation": ["sum"],
        "aggregate_at": "both" if differ else "both_summed",
        "node_residual": False,
        "edge_residual": False,
        "concat_initial": bool(source.setting("concat", True)),
        "edge_from_latents": False,
        "edge_from_nodes": False,
        "edge_from_features": True,
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
