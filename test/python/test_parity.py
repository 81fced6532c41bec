"""test_parity -- gradients and ten training steps against PyTorch.

Every family starts from the initial values of the library; test/parity runs
ten steps of AdamW in C, and here the same steps run in PyTorch in float64. At
every step the gradients agree to 1e-4 of the largest of their parameter array,
and so do the parameters. Skipped without torch or the built program;
ETX_SHOW=1 prints what was measured.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import BUILD, ROOT, has, needs

PROGRAM = BUILD / "test" / "network-steps"
if has("torch"):
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    import torch_families
    from exatrkx.files import safetensors

N_NODES, N_EDGES, N_STEPS = 60, 150, 10
N_FEATURES = {"lorentz_network": 6}  # 3 in the others
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.01
# Adam divides a gradient by its own size, so that one of the size of its own
# rounding goes another way in every program. With PyTorch's eps it is the
# values after the steps that agree, where they do not start from zero; the ways
# to them do with an eps above the rounding of float32 gradients.
EPS, SMOOTH_EPS = 1e-8, 3e-4
TOLERANCE = 1e-4
PT_WEIGHT = 0.5  # of the loss of a momentum head
# Values of enum etx_edge_feature: dr, dphi, dz, length, score_logit.
EDGE_FEATURES, SCALES = [0, 1, 2, 4, 11], [200.0, 1.0, 500.0, 500.0, 4.0]

SMALL = {"hidden": 16, "n_iterations": 3, "activation": "silu"}
CASES = {
    "embedding": (
        "mlp",
        {
            "hidden": [32, 32],
            "n_out": 4,
            "activation": "silu",
            "last_activation": "tanh",
        },
    ),
    "embedding, unit length": (
        "mlp",
        {"hidden": [24], "n_out": 8, "activation": "tanh", "normalize_output": True},
    ),
    "filter": ("edge_filter", {"hidden": [32, 16], "activation": "relu"}),
    "vanilla filter": (
        "edge_filter",
        {"hidden": [24] * 3, "style": "vanilla", "order": "target_source"},
    ),
    "interaction network": ("interaction_network", SMALL),
    "with momentum head": ("interaction_network", {**SMALL, "pt_layers": 2}),
    "recurrent interaction network": (
        "interaction_network",
        {
            **SMALL,
            "node_recurrent": True,
            "edge_recurrent": True,
            "edge_update": "old",
            "aggregation": ["max", "sum"],
            "aggregate_at": "target",
            "edge_from_latents": True,
            "edge_from_nodes": False,
        },
    ),
    "attention GNN": ("attention_gnn", {**SMALL, "activation": "tanh"}),
    "graph convolution": ("graph_convolution", {**SMALL, "activation": "relu"}),
    "graph convolution as published": (
        "graph_convolution",
        {
            **SMALL,
            "activation": "tanh",
            "encoder": False,
            "residual": False,
            "norm": "none",
        },
    ),
    "triplet GNN": (
        "triplet_gnn",
        {"activation": "silu", "triplets": {"hidden": 16, "n_iterations": 2}},
    ),
    "edge pooling": (
        "edge_pooling",
        {
            "edge_hidden": [24, 16],
            "activation": "tanh",
            "order": "target_source",
            "contract_cut": 0.4,
            "coarse": SMALL,
        },
    ),
    "Lorentz network": (
        "lorentz_network",
        {**SMALL, "step": 0.1, "ratio": 2.0, "n_iterations": 2},
    ),
    "GravNet": (
        "gravnet",
        {**SMALL, "n_space": 3, "n_flow": 8, "n_neighbours": 6, "n_out": 4},
    ),
}
WITHOUT_EDGE_FEATURES = ("mlp", "attention_gnn", "gravnet")
POINT_NETWORKS = ("mlp", "gravnet")
# Biases of GravNet that move the positions of all hits, or all points, alike, while
# only differences count: their gradient is zero, and what a program finds in its
# stead is rounding.
WITHOUT_GRADIENT = re.compile(r"space\.\d+\.0\.bias|output\.1\.bias")
ROUNDING = 1e-6


def make_problem(arch: str, options: dict, eps: float) -> tuple[dict, dict]:
    """Tensors and configuration of the file that the C program reads."""
    random = np.random.default_rng(20240131)
    pairs = random.choice(N_NODES * N_NODES, 2 * N_EDGES, replace=False)
    pairs = pairs[pairs // N_NODES < pairs % N_NODES][:N_EDGES]
    src, dst = pairs // N_NODES, pairs % N_NODES
    order = np.lexsort((src, dst))
    n_features = N_FEATURES.get(arch, 3)
    tensors = {
        "features": random.uniform(-1, 1, (N_NODES, n_features)).astype("f4"),
        "position": random.uniform(-500, 500, (N_NODES, 3)).astype("f4"),
        "src": src[order].astype("i8"),
        "dst": dst[order].astype("i8"),
        "score": random.uniform(0.02, 0.98, len(src)).astype("f4"),
        "target": (random.uniform(0, 1, len(src)) < 0.4).astype("f4"),
    }
    true = tensors["target"] > 0.5
    pt = random.uniform(-1, 1, len(src))
    tensors["pt"] = np.where(true, pt, np.nan).astype("f4")
    has_features = arch not in WITHOUT_EDGE_FEATURES
    config = {
        "arch": arch,
        "options": options,
        "edge_features": EDGE_FEATURES if has_features else [],
        "scales": SCALES if has_features else [],
        "seed": 7,
        "steps": N_STEPS,
        "learning_rate": LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "eps": eps,
        "pt_scale": PT_WEIGHT / int(true.sum()),
    }
    return tensors, config


def edge_features(tensors: dict) -> torch.Tensor:
    """dr, dphi, dz, length and the logit of the score, divided by the scales."""
    start = tensors["position"][tensors["src"]].astype("f8")
    end = tensors["position"][tensors["dst"]].astype("f8")
    r = [np.hypot(p[:, 0], p[:, 1]) for p in (start, end)]
    cross = start[:, 0] * end[:, 1] - start[:, 1] * end[:, 0]
    dot = (start[:, :2] * end[:, :2]).sum(1)
    score = tensors["score"].astype("f8")
    columns = [
        r[1] - r[0],
        np.arctan2(cross, dot),
        end[:, 2] - start[:, 2],
        np.linalg.norm(end - start, axis=1),
        np.log(score / (1 - score)),
    ]
    return torch.tensor(np.stack(columns, 1) / SCALES)


def run_c(tensors: dict, config: dict) -> tuple[dict, list]:
    with tempfile.TemporaryDirectory() as folder:
        problem, result = Path(folder, "problem"), Path(folder, "result")
        metadata = {"problem": json.dumps(config)}
        safetensors.write(str(problem), tensors, metadata)
        subprocess.run([str(PROGRAM), str(problem), str(result)], check=True)
        arrays, metadata = safetensors.read(str(result))
    return arrays, json.loads(metadata["parameters"])


def split(flat: np.ndarray, parameters: list) -> dict[str, np.ndarray]:
    """The parameter arrays of all values one after the other."""
    arrays = {}
    begin = 0
    for name, n_rows, n_columns, is_vector in parameters:
        part = flat[begin : begin + n_rows * n_columns]
        arrays[name] = part if is_vector else part.reshape(n_rows, n_columns)
        begin += n_rows * n_columns
    return arrays


class Torch:
    """The network, its loss and its optimiser in PyTorch, in float64."""

    def __init__(self, tensors: dict, config: dict, start: dict) -> None:
        self.family = torch_families.FAMILIES[config["arch"]]
        self.is_point = config["arch"] in POINT_NETWORKS
        self.options = config["options"]
        has_features = bool(config["edge_features"])
        e = edge_features(tensors) if has_features else torch.zeros(N_EDGES, 0)
        ends = [torch.from_numpy(tensors[name].copy()) for name in ("src", "dst")]
        x = torch.from_numpy(tensors["features"]).double()
        score = torch.from_numpy(tensors["score"]).double()
        self.graph = torch_families.Graph(x, e.double(), *ends, score)
        self.target = torch.from_numpy(tensors["target"]).double()
        self.pt = torch.from_numpy(tensors["pt"]).double()
        self.weights = {
            name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
            for name, array in start.items()
        }
        groups = [
            {
                "params": [w for w in self.weights.values() if w.dim() == 2],
                "weight_decay": WEIGHT_DECAY,
            },
            {
                "params": [w for w in self.weights.values() if w.dim() == 1],
                "weight_decay": 0.0,
            },
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=LEARNING_RATE, eps=config["eps"])

    def loss(self) -> torch.Tensor:
        out = self.family(self.weights, self.graph, self.options)
        if not self.is_point:
            loss = functional.binary_cross_entropy_with_logits(out, self.target)
            return loss + self.pt_loss() if "pt_layers" in self.options else loss
        difference = out[self.graph.src] - out[self.graph.dst]
        squared = (difference * difference).sum(1)
        hinge = torch.relu(1 - squared.sqrt()) ** 2
        return torch.where(self.target > 0.5, squared, hinge).mean()

    def pt_loss(self) -> torch.Tensor:
        """Mean square over the true edges."""
        head = torch_families.momentum_head
        miss = head(self.weights, self.graph, self.options) - self.pt
        return PT_WEIGHT * (miss[self.target > 0.5] ** 2).mean()

    def step(self) -> float:
        """One step; the gradients stay in weights until the next."""
        self.optimiser.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimiser.step()
        return loss.item()


@needs("torch")
@unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make tests")
class Parity(unittest.TestCase):
    def check(self, what: str, got: dict, expected: dict) -> float:
        worst = 0.0
        for name, array in expected.items():
            if WITHOUT_GRADIENT.fullmatch(name):
                continue
            scale = np.abs(array).max()
            difference = np.abs(got[name] - array).max()
            self.assertLessEqual(
                difference, TOLERANCE * scale, f"{what} of {name}, largest {scale:.3g}"
            )
            worst = max(worst, difference / max(scale, 1e-30))
        return worst

    def check_rounding(self, gradients: dict) -> None:
        """What has no gradient gets next to none."""
        most = max(np.abs(array).max() for array in gradients.values())
        for name, array in gradients.items():
            if WITHOUT_GRADIENT.fullmatch(name):
                self.assertLessEqual(np.abs(array).max(), ROUNDING * most, name)

    def compare(self, arch: str, options: dict, eps: float) -> tuple[float, float]:
        """The worst gradient, and the worst value or way; they are checked."""
        tensors, config = make_problem(arch, options, eps)
        result, parameters = run_c(tensors, config)
        start = split(result["start"], parameters)
        peer = Torch(tensors, config, start)
        origin = {n: w if eps == SMOOTH_EPS else 0 * w for n, w in start.items()}
        gradient = value = 0.0
        for s in range(N_STEPS):
            loss = peer.step()
            self.assertAlmostEqual(loss, float(result["loss"][s]), delta=1e-5 * loss)
            expected = {n: w.grad.numpy() for n, w in peer.weights.items()}
            found = split(result["gradient"][s], parameters)
            self.check_rounding(found)
            gradient = max(gradient, self.check(f"step {s}: gradient", found, expected))
            expected = {
                n: w.detach().numpy() - origin[n]
                for n, w in peer.weights.items()
                if eps == SMOOTH_EPS or start[n].any()
            }
            found = split(result["value"][s], parameters)
            found = {n: found[n] - origin[n] for n in expected}
            value = max(value, self.check(f"step {s}: value", found, expected))
        return gradient, value

    def test_families(self) -> None:
        for name, (arch, options) in CASES.items():
            for eps in (EPS, SMOOTH_EPS):
                with self.subTest(name, eps=eps):
                    gradient, value = self.compare(arch, options, eps)
                    if os.environ.get("ETX_SHOW"):
                        print(f"{name}, eps {eps}: {gradient:.1e}, {value:.1e}")

    def test_every_family_has_a_case(self) -> None:
        folders = {path.parent.name for path in (ROOT / "src/arch").glob("*/*.c")}
        self.assertEqual(folders, {arch for arch, _ in CASES.values()})
