"""test_module -- the stages in the Python of ACTS.

    python3 test_module.py FOLDER_OF_THE_EXAMPLES FOLDER_OF_THE_MODULE

needs acts with acts.gnn on the path. The pipeline itself is run where the
bindings of this ACTS can call it.

SPDX-License-Identifier: Apache-2.0
"""

import csv
import gzip
import math
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[2])

import acts
import acts.gnn
import exatrkx_acts

COLUMNS = [("r", 1000.0), ("phi", 3.14159274), ("z", 1000.0)]


def rows(path):
    with gzip.open(path, "rt") as file:
        return list(csv.DictReader(file))


def node_features(prefix):
    """[n_hits * 3], as TrackFindingAlgorithmGnn fills them."""
    features = []
    for hit in rows(f"{prefix}-hits.csv.gz"):
        x, y, z = (float(hit[name]) for name in "xyz")
        values = (math.hypot(x, y), math.atan2(y, x), z)
        features += [v / scale for v, (_, scale) in zip(values, COLUMNS)]
    return features


def check_mistakes(model):
    """Errors name both sides."""
    for arguments, words in (
        ((str(model), COLUMNS[:1]), ("x, y, z", "r (scale 1000)")),
        (("no-such-file", COLUMNS), ("no-such-file",)),
        ((str(model), COLUMNS, None, 1, 0, [], "no"), ('moduleIds "no"',)),
    ):
        try:
            exatrkx_acts.Stages(*arguments)
        except (RuntimeError, ValueError) as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError(f"{arguments} was taken")


def module_ids(prefix):
    """Of the hits, as ACTS packs them."""
    return [
        (int(hit["volume_id"]) << 56)
        + (int(hit["layer_id"]) << 36)
        + (int(hit["module_id"]) << 8)
        for hit in rows(f"{prefix}-hits.csv.gz")
    ]


def run(pipeline, features, ids):
    """The tracks, or None where the bindings cannot call the pipeline."""
    n = len(features) // len(COLUMNS)
    try:
        return pipeline.run(
            features, ids, list(range(n)), acts.gnn.Device.Cpu()
        )
    except TypeError as error:
        if "GnnTiming" not in str(error):
            raise
        return None


def main(examples):
    model = examples / "models" / "default.safetensors"
    stages = exatrkx_acts.Stages(str(model), COLUMNS)
    assert isinstance(stages.graphConstruction, acts.gnn.GraphConstructionBase)
    assert isinstance(stages.trackBuilding, acts.gnn.TrackBuildingBase)
    assert len(stages.edgeClassifiers) == 2
    pipeline = acts.gnn.GnnPipeline(
        stages.graphConstruction,
        stages.edgeClassifiers,
        stages.trackBuilding,
        acts.logging.WARNING,
    )
    check_mistakes(model)
    prefix = examples / "data" / "event000000001"  # sorted by module
    tracks = run(pipeline, node_features(prefix), module_ids(prefix))
    if tracks is None:
        print("stages made; SKIPPED the run: GnnTiming is not registered here")
        return
    hits = [hit for track in tracks for hit in track]
    assert len(tracks) > 30 and len(hits) == len(set(hits)), len(tracks)
    print(f"stages made and run: {len(tracks)} tracks")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
