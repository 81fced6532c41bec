"""stages -- the trainings of an adaptation: their networks, settings and cost.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._context import Context
from .._errors import FileError
from .._event import Event
from .._model import Model
from .._training import Trainer, TrainingReport
from ..files import whole_file
from .facts import Facts

STAGES = ("embedding", "filter", "gnn")
LENGTHS = ("r", "x", "y", "z", "R", "dr", "dz", "length")  # features in mm
SHIPPED_RADIUS = 1000.0  # mm, of the detector of the shipped models
# Seconds of a core for a step: so much, and so much per hit of an event, where the
# hidden layers are as wide as in default.
STEP_SECONDS = {"embedding": (0.001, 3.6e-6), "filter": (0.0005, 1.2e-6), "gnn": (0.001, 1.3e-5)}
DEFAULT_WIDTH = {"embedding": 128, "filter": 64, "gnn": 32}
SHARE = {"embedding": 0.3, "filter": 0.2, "gnn": 0.5}  # of the time
HITS_OF_A_STEP = {"embedding": 10000, "filter": 12000, "gnn": 10000}
MIN_STEPS = 60
MAX_STEPS = {"embedding": 40000, "filter": 40000, "gnn": 80000}
N_VALIDATIONS = 5
CHECKPOINT_SECONDS = 20.0


def width(model: Model, stage: str) -> int:
    """Of the hidden layers of a stage."""
    hidden = model.config[stage]["options"]["hidden"]
    return int(hidden[0] if isinstance(hidden, list) else hidden)


def steps_of(
    stage: str, model: Model, facts: Facts, seconds: float, stages: Sequence[str]
) -> int:
    """Steps that a share of the time allows on a core of the tables.
    Counted, not measured: a training that is repeated has as many."""
    share = SHARE[stage] / sum(SHARE[name] for name in stages)
    fixed, per_hit = STEP_SECONDS[stage]
    per_hit *= (width(model, stage) / DEFAULT_WIDTH[stage]) ** 1.5
    cost = fixed + per_hit * min(facts.n_hits, HITS_OF_A_STEP[stage])
    return int(min(max(share * seconds / cost, MIN_STEPS), MAX_STEPS[stage]))


def new_network(stage: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """The network of a stage of a shipped model, for new weights, with lengths
    in the scale of this detector."""
    scaled = dict(stage)
    for kind in ("node_features", "edge_features"):
        scaled[kind] = [
            {**one, "scale": one["scale"] * facts.radius / SHIPPED_RADIUS}
            if one["name"] in LENGTHS
            else one
            for one in stage.get(kind, [])
        ]
    return {name: value for name, value in scaled.items() if value != []}


def training(
    stage: str, model: Model, facts: Facts, n_steps: int, from_scratch: bool
) -> dict[str, Any]:
    """The config of one training (docs/training_config.md)."""
    both = bool(facts.is_symmetric)
    rate = {"embedding": 0.002, "filter": 0.003, "gnn": 0.002}[stage]
    config: dict[str, Any] = {
        "stage": stage,
        "seed": 1,
        "schedule": {
            "steps": n_steps,
            "learning_rate": rate if from_scratch else rate / 2,
            "min_learning_rate": 0.00001,
            "warmup_steps": min(100, n_steps // 10),
            "decay": "cosine",
        },
        "optimiser": {"weight_decay": 0.001, "gradient_clip": 1.0},
        "truth": {
            "min_pt": min(0.5, facts.median_pt),
            "low_pt_weight": 0.75,
            "displaced_weight": 2,
        },
        "augmentation": {
            "reflect_z": both,
            "reflect_y": bool(facts.has_helices),
            "rotate_phi": stage == "embedding" and facts.has_helices,
            "drop_hits": 0.05,
            "jitter": 0.03 if facts.n_layers else 0.0,
        },
        "validation": {"target_efficiency": 0, "keep_best": True},
    }
    if facts.has_cells:
        config["augmentation"]["drop_cells"] = 0.08
    if "first_pass" in model.stages and facts.n_layers:
        config["augmentation"]["first_pass"] = 0.8
    if stage == "embedding":
        config["sampling"] = {
            "hits": 10000, "queries": 1500, "search_radius": 0.5,
            "neighbours": 0, "other": 100, "random_pairs": 1000,
        }  # fmt: skip
        config["loss"] = {"hinge": "distance", "margin": 1.0, "positive_weight": 4.0}
        config["validation"] = {"target_efficiency": 0.999, "keep_best": True}
    elif stage == "filter":
        config["sampling"] = {"hits": 12000, "edges": 30000, "false_per_true": 4.0}
    else:
        config["sampling"] = {"hits": 0, "eta_window": 0.25, "edges": 40000}
        config["label"] = model.config["label"]
    if from_scratch:
        config["model"] = new_network(model.config[stage], facts)
    return config


@dataclass
class Curve:
    """What the validations of a training found, by step."""

    quality: dict[int, float] = field(default_factory=dict)

    def add(self, found: TrainingReport) -> None:
        """The area under the curve of edge scores; of an embedding, which has none,
        the true share of the edges that keep the wanted efficiency."""
        is_scored = found.auc == found.auc
        self.quality[found.step] = found.auc if is_scored else found.purity

    def rows(self) -> list[list[float]]:
        """Steps, ascending, and what was found."""
        return [list(row) for row in sorted(self.quality.items())]

    def save(self, path: Path) -> None:
        whole_file.write(str(path), json.dumps(self.quality).encode())

    @staticmethod
    def load(path: Path) -> Curve:
        """Of a training that went on; a new one where there is no file."""
        try:
            rows = json.loads(path.read_text()) if path.exists() else {}
            return Curve({int(step): float(value) for step, value in rows.items()})
        except (ValueError, TypeError, AttributeError):
            raise FileError(
                f"{path}: not what validations found; remove {path.parent} to begin again"
            ) from None


def train(
    config: dict[str, Any],
    start: Model,
    events: tuple[Sequence[Event], Sequence[Event]],
    context: Context,
    checkpoint: Path,
    report: Callable[[TrainingReport], object],
) -> Model:
    """Train to the end of the schedule on the first events, validated on the second.
    A checkpoint is kept: a training that was killed goes on with the same bits."""
    with Trainer(config, start=start, context=context) as trainer:
        for is_validation, some in enumerate(events):
            for event in some:
                trainer.add(event, validation=bool(is_validation))
        if checkpoint.exists():
            trainer.load_checkpoint(checkpoint)
        n = trainer.n_steps
        validated = {n * k // N_VALIDATIONS for k in range(1, N_VALIDATIONS + 1)}
        saved = time.monotonic()
        try:
            while trainer.steps_done < n:
                found = trainer.step()
                if found.step in validated:
                    found = trainer.validate()
                report(found)
                if time.monotonic() - saved > CHECKPOINT_SECONDS:
                    trainer.save_checkpoint(checkpoint)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            trainer.save_checkpoint(checkpoint)
            raise
        model = trainer.model()
    checkpoint.unlink(missing_ok=True)
    return model
