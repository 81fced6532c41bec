"""catalogue -- every stage that is timed, in the order of the pipeline.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from . import (
    components,
    default_event,
    edge_filter,
    embedding,
    graph_network,
    linear,
    radius_graph,
    trackers,
    training,
    triplets,
    whole_event,
)
from .stage import Stage

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        *embedding.STAGES,
        *radius_graph.STAGES,
        *edge_filter.STAGES,
        *graph_network.STAGES,
        *components.STAGES,
        triplets.STAGE,
        *linear.STAGES,
        *training.STAGES,
        whole_event.STAGE,
        default_event.STAGE,
        trackers.STAGE,
    )
}
