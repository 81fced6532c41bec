"""_declarations -- the C interface of libexatrkx for ctypes.

Written by generate_declarations.py from include/exatrkx/*.h; change those.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes as c
import operator
from typing import Any


class Opaque(c.c_void_p):
    """An object of the library; calls take none of another kind for it."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        given = getattr(value, "_as_parameter_", value)
        if given is None or isinstance(given, cls):
            return given
        raise TypeError(
            f"expected an {cls.__name__}, not {type(given).__name__}"
        )


def whole(value: Any, bits: int) -> int:
    """value as int; OverflowError where that many bits do not hold it."""
    number = operator.index(value)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OverflowError(f"{number} does not fit in {bits} bits")
    return number


class Int32(c.c_int32):
    """An argument: any whole number that 32 bits hold."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        return cls(whole(value, 32))


class Int64(c.c_int64):
    """An argument: any whole number that 64 bits hold."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        return cls(whole(value, 64))


ETX_VERSION_MAJOR = 0
ETX_VERSION_MINOR = 1
ETX_VERSION_PATCH = 1
ETX_OK = 0
ETX_ERR_ARGUMENT = -1
ETX_ERR_MEMORY = -2
ETX_ERR_IO = -3
ETX_ERR_FORMAT = -4
ETX_ERR_UNSUPPORTED = -5
ETX_ERR_DEVICE = -6
ETX_ERR_LIMIT = -7
ETX_ERR_CANCELLED = -8
ETX_ERR_RANK = -9
ETX_DEVICE_CPU = 0
ETX_DEVICE_CUDA = 1
ETX_CPU_BEST = 0
ETX_CPU_REF = 1
ETX_CPU_AVX2 = 2
ETX_CPU_AVX512 = 3
ETX_CPU_NEON = 4
ETX_PRECISION_BEST = 0
ETX_PRECISION_FLOAT32 = 1
ETX_PRECISION_FLOAT16 = 2
ETX_PRECISION_BFLOAT16 = 3
ETX_PRECISION_TF32 = 4
ETX_PRECISION_INT16 = 5
ETX_MAX_EDGES_PER_POINT = 1000
ETX_MAX_FREE_EDGES = 16777216
ETX_STAGE_FEATURES = 0
ETX_STAGE_EMBEDDING = 1
ETX_STAGE_GRAPH = 2
ETX_STAGE_FILTER = 3
ETX_STAGE_GNN = 4
ETX_STAGE_LABEL = 5
ETX_STAGE_COMPLETION = 6
ETX_STAGE_FIRST_PASS = 7
ETX_N_STAGES = 8
ETX_LABEL_COMPONENTS = 0
ETX_LABEL_MUTUAL_BEST = 1
ETX_LABEL_WALKTHROUGH = 2
ETX_LABEL_BEST_FIRST = 3
ETX_MATCH_DOUBLE_MAJORITY = 0
ETX_MATCH_ATLAS = 1
ETX_MATCH_PERFECT = 2
ETX_VARIABLE_PT = 0
ETX_VARIABLE_ETA = 1
ETX_VARIABLE_RADIUS = 2
ETX_VARIABLE_NEAREST = 3
ETX_FIT_D0 = 0
ETX_FIT_Z0 = 1
ETX_FIT_PHI = 2
ETX_FIT_THETA = 3
ETX_FIT_Q_OVER_PT = 4
ETX_N_FIT = 5
ETX_ORIENT_INDEX = 0
ETX_ORIENT_OUTWARD = 1
ETX_ORIENT_BOTH = 2
ETX_PARTITION_PHI = 0
ETX_PARTITION_KD = 1
ETX_VALIDATION_EDGES_PER_HIT = 300
ETX_MAP_MODULES = 0
ETX_MAP_LAYERS = 1
ETX_ASSIGN_BALANCED = 0
ETX_ASSIGN_IN_TURN = 1


class etx_context(Opaque):
    pass


class etx_detector(Opaque):
    pass


class etx_event(Opaque):
    pass


class etx_graph(Opaque):
    pass


class etx_graph_part(Opaque):
    pass


class etx_model(Opaque):
    pass


class etx_tracks(Opaque):
    pass


class etx_trainer(Opaque):
    pass


class etx_context_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("device", c.c_int32),
        ("device_index", c.c_int32),
        ("n_threads", c.c_int32),
        ("cpu_level", c.c_int32),
        ("cancel_interval", c.c_int32),
        ("memory_limit", c.c_int64),
        ("stream", c.c_void_p),
        ("cancel", c.CFUNCTYPE(c.c_int32, c.c_void_p)),
        ("cancel_user", c.c_void_p),
        ("precision", c.c_int32),
        ("keep_graphs", c.c_int32),
    ]


class etx_stage_timing(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_int32),
        ("seconds", c.c_double),
        ("gflop", c.c_double),
        ("peak_bytes", c.c_int64),
        ("n_edges", c.c_int64),
    ]


class etx_particle(c.Structure):
    _fields_ = [
        ("id", c.c_int64),
        ("vertex", c.c_float * 3),
        ("momentum", c.c_float * 3),
        ("charge", c.c_int32),
        ("n_hits", c.c_int32),
    ]


class etx_label_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("method", c.c_int32),
        ("cut", c.c_float),
        ("min_hits", c.c_int32),
        ("sure_cut", c.c_float),
        ("strong_cut", c.c_float),
        ("support_hits", c.c_int32),
        ("max_curvature_change", c.c_float),
        ("max_polar_change", c.c_float),
    ]


class etx_completion_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("max_distance", c.c_float),
        ("max_join", c.c_float),
        ("max_random", c.c_float),
        ("min_layers", c.c_int32),
        ("min_pt", c.c_float),
        ("passes", c.c_int32),
    ]


class etx_first_pass_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("min_layers", c.c_int32),
        ("min_pt", c.c_float),
        ("max_distance", c.c_float),
        ("max_random", c.c_float),
        ("min_event_hits", c.c_int32),
    ]


class etx_evaluation_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("matching", c.c_int32),
        ("matching_fraction", c.c_float),
        ("min_pt", c.c_float),
        ("max_eta", c.c_float),
        ("min_particle_hits", c.c_int32),
        ("min_track_hits", c.c_int32),
        ("charged_only", c.c_int32),
    ]


class etx_evaluation_counts(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_int32),
        ("n_events", c.c_int64),
        ("n_particles_selected", c.c_int64),
        ("n_particles_reconstructable", c.c_int64),
        ("n_selected_matched", c.c_int64),
        ("n_reconstructable_matched", c.c_int64),
        ("n_tracks", c.c_int64),
        ("n_tracks_matched", c.c_int64),
        ("n_tracks_fake", c.c_int64),
        ("n_tracks_duplicate", c.c_int64),
        ("trackml_score_sum", c.c_double),
        ("primary_score_sum", c.c_double),
    ]


class etx_rate(c.Structure):
    _fields_ = [
        ("value", c.c_double),
        ("low", c.c_double),
        ("high", c.c_double),
    ]


class etx_evaluation(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_int32),
        ("physics_efficiency", etx_rate),
        ("technical_efficiency", etx_rate),
        ("purity", etx_rate),
        ("fake_rate", etx_rate),
        ("duplicate_rate", etx_rate),
        ("trackml_score", c.c_double),
        ("primary_score", c.c_double),
    ]


class etx_track_parameters(c.Structure):
    _fields_ = [
        ("d0", c.c_double),
        ("z0", c.c_double),
        ("phi", c.c_double),
        ("theta", c.c_double),
        ("q_over_pt", c.c_double),
        ("covariance", c.c_double * 25),
        ("chi2", c.c_double),
        ("n_degrees", c.c_int32),
        ("n_holes", c.c_int32),
        ("n_outliers", c.c_int32),
        ("reserved", c.c_int32),
    ]


class etx_fit_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("field", c.c_float),
        ("material", c.c_float),
        ("mass", c.c_float),
        ("resolution_scale", c.c_float),
        ("max_hit_chi2", c.c_float),
        ("field_map", c.c_void_p),
        ("n_r", c.c_int32),
        ("n_z", c.c_int32),
        ("max_r", c.c_float),
        ("max_z", c.c_float),
        ("energy_loss", c.c_float),
        ("map_x", c.c_float),
        ("map_y", c.c_float),
        ("map_z", c.c_float),
    ]


class etx_resolve_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("max_shared", c.c_int32),
        ("min_hits", c.c_int32),
    ]


class etx_graph_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("radius", c.c_float),
        ("max_neighbours", c.c_int32),
        ("orientation", c.c_int32),
        ("max_edges", c.c_int64),
    ]


class etx_part_exchange(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("reserved", c.c_int32),
        ("swap", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p)),
        ("leave", c.CFUNCTYPE(None, c.c_void_p, c.c_int32)),
        ("user", c.c_void_p),
    ]


class etx_module_map_options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("units", c.c_int32),
        ("use_triplets", c.c_int32),
        ("min_pt", c.c_float),
        ("tail", c.c_float),
        ("margin", c.c_float),
    ]


class etx_training_report(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("is_validation", c.c_int32),
        ("step", c.c_int64),
        ("n_steps", c.c_int64),
        ("loss", c.c_double),
        ("learning_rate", c.c_double),
        ("gradient_norm", c.c_double),
        ("weight_norm", c.c_double),
        ("n_edges", c.c_double),
        ("efficiency", c.c_double),
        ("purity", c.c_double),
        ("auc", c.c_double),
        ("threshold", c.c_double),
        ("seconds", c.c_double),
        ("is_rollback", c.c_int32),
        ("n_rollbacks", c.c_int32),
        ("is_best", c.c_int32),
        ("is_finished", c.c_int32),
        ("imbalance", c.c_double),
        ("loss_spread", c.c_double),
        ("graphs_seconds", c.c_double),
        ("network_seconds", c.c_double),
        ("pt_error", c.c_double),
        ("pt_spread", c.c_double),
        ("loss_scale", c.c_double),
        ("is_skipped", c.c_int32),
        ("n_skipped", c.c_int32),
    ]


class etx_team(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("rank", c.c_int32),
        ("n_ranks", c.c_int32),
        ("assignment", c.c_int32),
        ("is_fast", c.c_int32),
        ("reserved", c.c_int32),
        ("user", c.c_void_p),
        ("sum", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_int64)),
        ("gather", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p)),
        ("sum_slices", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_int64, c.c_int64, c.c_void_p, c.c_void_p)),
        ("share_slices", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p, c.c_int64, c.c_int64, c.c_void_p)),
    ]


STRUCTS = (
    etx_context_options,
    etx_stage_timing,
    etx_particle,
    etx_label_options,
    etx_completion_options,
    etx_first_pass_options,
    etx_evaluation_options,
    etx_evaluation_counts,
    etx_rate,
    etx_evaluation,
    etx_track_parameters,
    etx_fit_options,
    etx_resolve_options,
    etx_graph_options,
    etx_part_exchange,
    etx_module_map_options,
    etx_training_report,
    etx_team,
)

# Name: type of the result, types of the arguments.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "etx_version": (c.c_char_p, []),
    "etx_status_name": (c.c_char_p, [Int32]),
    "etx_last_error": (c.c_char_p, []),
    "etx_set_last_error": (None, [c.c_char_p]),
    "etx_set_cancel": (None, [c.CFUNCTYPE(c.c_int32, c.c_void_p), c.c_void_p]),
    "etx_is_cancelled": (c.c_int32, []),
    "etx_set_allocator": (c.c_int32, [
        c.CFUNCTYPE(c.c_void_p, c.c_size_t, c.c_void_p), c.CFUNCTYPE(None,
        c.c_void_p, c.c_void_p), c.c_void_p,
    ]),
    "etx_context_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_context_create": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "etx_context_free": (None, [etx_context]),
    "etx_context_timing": (c.c_int32, [c.c_void_p, etx_context, Int32]),
    "etx_stage_name": (c.c_char_p, [Int32]),
    "etx_model_load": (c.c_int32, [c.c_void_p, c.c_char_p]),
    "etx_model_load_memory": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_size_t]),
    "etx_model_save": (c.c_int32, [etx_model, c.c_char_p]),
    "etx_model_describe": (c.c_char_p, [etx_model]),
    "etx_model_has_stage": (c.c_int32, [etx_model, Int32]),
    "etx_model_free": (None, [etx_model]),
    "etx_detector_read": (c.c_int32, [c.c_void_p, c.c_char_p]),
    "etx_detector_n_modules": (c.c_int64, [etx_detector]),
    "etx_detector_free": (None, [etx_detector]),
    "etx_event_create": (c.c_int32, [
        c.c_void_p, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_event_create_device": (c.c_int32, [
        c.c_void_p, etx_context, Int64, c.c_void_p, c.c_void_p, c.c_void_p,
    ]),
    "etx_event_read_trackml": (c.c_int32, [
        c.c_void_p, c.c_char_p, etx_detector,
    ]),
    "etx_event_read_trackml_files": (c.c_int32, [
        c.c_void_p, c.c_char_p, c.c_char_p, c.c_char_p, c.c_char_p,
        etx_detector,
    ]),
    "etx_event_read_features": (c.c_int32, [
        c.c_void_p, c.c_char_p, c.c_void_p,
    ]),
    "etx_event_set_features": (c.c_int32, [etx_event, Int64, c.c_void_p]),
    "etx_event_set_features_device": (c.c_int32, [
        etx_event, etx_context, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_event_set_modules": (c.c_int32, [
        etx_event, c.c_void_p, c.c_void_p, c.c_void_p,
    ]),
    "etx_event_set_cells": (c.c_int32, [
        etx_event, Int64, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p,
        etx_detector,
    ]),
    "etx_event_set_cell_features": (c.c_int32, [etx_event, c.c_void_p]),
    "etx_event_set_cluster_positions": (c.c_int32, [etx_event, c.c_void_p]),
    "etx_event_set_truth": (c.c_int32, [
        etx_event, c.c_void_p, c.c_void_p, Int64, c.c_void_p,
    ]),
    "etx_event_set_shared_hits": (c.c_int32, [
        etx_event, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_event_check": (c.c_int32, [
        c.c_char_p, Int64, etx_event, etx_detector, etx_model,
    ]),
    "etx_event_n_hits": (c.c_int64, [etx_event]),
    "etx_event_hit_ids": (c.c_void_p, [etx_event]),
    "etx_event_positions": (c.c_void_p, [etx_event]),
    "etx_event_particle_ids": (c.c_void_p, [etx_event]),
    "etx_event_n_particles": (c.c_int64, [etx_event]),
    "etx_event_particles": (c.c_void_p, [etx_event]),
    "etx_event_n_shared_hits": (c.c_int64, [etx_event]),
    "etx_event_shared_hits": (c.c_void_p, [etx_event]),
    "etx_event_shared_particle_ids": (c.c_void_p, [etx_event]),
    "etx_event_cell_features": (c.c_void_p, [etx_event]),
    "etx_event_cluster_positions": (c.c_void_p, [etx_event]),
    "etx_event_volume_ids": (c.c_void_p, [etx_event]),
    "etx_event_layer_ids": (c.c_void_p, [etx_event]),
    "etx_event_module_ids": (c.c_void_p, [etx_event]),
    "etx_event_weights": (c.c_void_p, [etx_event]),
    "etx_event_n_features": (c.c_int64, [etx_event]),
    "etx_event_features": (c.c_void_p, [etx_event]),
    "etx_event_free": (None, [etx_event]),
    "etx_embed": (c.c_int32, [
        c.c_void_p, c.c_void_p, Int64, etx_context, etx_model, etx_event,
    ]),
    "etx_graph_build": (c.c_int32, [
        c.c_void_p, etx_context, etx_model, etx_event,
    ]),
    "etx_graph_filter": (c.c_int32, [
        c.c_void_p, etx_graph, etx_context, etx_model, etx_event,
    ]),
    "etx_graph_score": (c.c_int32, [
        etx_graph, etx_context, etx_model, etx_event,
    ]),
    "etx_label_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_model_label_options": (c.c_int32, [c.c_void_p, etx_model]),
    "etx_graph_tracks": (c.c_int32, [
        c.c_void_p, etx_graph, etx_context, etx_event, c.c_void_p,
    ]),
    "etx_graph_label": (c.c_int32, [
        c.c_void_p, etx_graph, etx_context, etx_event, c.c_void_p,
    ]),
    "etx_completion_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_model_completion_options": (c.c_int32, [c.c_void_p, etx_model]),
    "etx_complete_tracks": (c.c_int32, [
        c.c_void_p, etx_tracks, etx_context, etx_model, etx_event, c.c_void_p,
    ]),
    "etx_first_pass_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_model_first_pass_options": (c.c_int32, [c.c_void_p, etx_model]),
    "etx_find_long_tracks": (c.c_int32, [
        c.c_void_p, etx_context, etx_model, etx_event, c.c_void_p,
    ]),
    "etx_find_tracks": (c.c_int32, [
        c.c_void_p, etx_context, etx_model, etx_event,
    ]),
    "etx_find_tracks_begin": (c.c_int32, [
        c.c_void_p, c.c_void_p, etx_context, etx_model, etx_event,
    ]),
    "etx_find_tracks_end": (c.c_int32, [
        c.c_void_p, c.c_void_p, Int64, etx_context, etx_model, etx_event,
    ]),
    "etx_find_tracks_batch": (c.c_int32, [
        c.c_void_p, etx_context, etx_model, Int64, c.c_void_p,
    ]),
    "etx_tracks_count": (c.c_int64, [etx_tracks]),
    "etx_tracks_n_hits": (c.c_int64, [etx_tracks]),
    "etx_tracks_offsets": (c.c_void_p, [etx_tracks]),
    "etx_tracks_hits": (c.c_void_p, [etx_tracks]),
    "etx_tracks_ids": (c.c_void_p, [etx_tracks]),
    "etx_tracks_set_ids": (c.c_int32, [etx_tracks, c.c_void_p]),
    "etx_tracks_from_labels": (c.c_int32, [c.c_void_p, Int64, c.c_void_p]),
    "etx_tracks_from_lists": (c.c_int32, [
        c.c_void_p, Int64, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_tracks_write_csv": (c.c_int32, [etx_tracks, etx_event, c.c_char_p]),
    "etx_tracks_read_csv": (c.c_int32, [c.c_void_p, etx_event, c.c_char_p]),
    "etx_tracks_free": (None, [etx_tracks]),
    "etx_evaluation_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_evaluate": (c.c_int32, [
        c.c_void_p, etx_event, etx_tracks, c.c_void_p,
    ]),
    "etx_evaluation_rates": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "etx_evaluate_binned": (c.c_int32, [
        c.c_void_p, c.c_void_p, etx_event, etx_tracks, Int32, Int64,
        c.c_void_p, c.c_void_p,
    ]),
    "etx_match": (c.c_int32, [
        c.c_void_p, c.c_void_p, etx_event, etx_tracks, c.c_void_p,
    ]),
    "etx_fit_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_fit_tracks": (c.c_int32, [
        c.c_void_p, c.c_void_p, etx_tracks, etx_context, etx_model, etx_event,
        etx_detector, c.c_void_p,
    ]),
    "etx_tracks_select": (c.c_int32, [
        c.c_void_p, etx_tracks, c.c_void_p, c.c_void_p,
    ]),
    "etx_resolve_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_tracks_resolve": (c.c_int32, [
        c.c_void_p, etx_tracks, c.c_void_p, c.c_void_p,
    ]),
    "etx_graph_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_graph_build_radius": (c.c_int32, [
        c.c_void_p, etx_context, Int64, Int64, c.c_void_p, etx_event,
        c.c_void_p,
    ]),
    "etx_graph_build_knn": (c.c_int32, [
        c.c_void_p, etx_context, Int64, Int64, c.c_void_p, etx_event,
        c.c_void_p,
    ]),
    "etx_graph_build_module_map": (c.c_int32, [
        c.c_void_p, etx_context, etx_model, etx_event, Int64,
    ]),
    "etx_graph_from_edges": (c.c_int32, [
        c.c_void_p, Int64, Int64, c.c_void_p, c.c_void_p, c.c_void_p,
        c.c_void_p,
    ]),
    "etx_graph_from_edges_device": (c.c_int32, [
        c.c_void_p, etx_context, Int64, Int64, c.c_void_p, c.c_void_p,
        c.c_void_p, c.c_void_p, c.c_void_p,
    ]),
    "etx_graph_from_index_device": (c.c_int32, [
        c.c_void_p, etx_context, Int64, Int64, c.c_void_p, c.c_void_p,
        c.c_void_p,
    ]),
    "etx_graph_to_index_device": (c.c_int32, [
        c.c_void_p, c.c_void_p, c.c_void_p, Int64, etx_graph, etx_context,
        c.c_float, c.c_void_p,
    ]),
    "etx_graph_to_triplets": (c.c_int32, [
        c.c_void_p, etx_graph, etx_context, Int64,
    ]),
    "etx_graph_score_triplets": (c.c_int32, [
        etx_graph, etx_graph, etx_context, etx_model, etx_event,
    ]),
    "etx_graph_n_nodes": (c.c_int64, [etx_graph]),
    "etx_graph_n_edges": (c.c_int64, [etx_graph]),
    "etx_graph_src": (c.c_void_p, [etx_graph]),
    "etx_graph_dst": (c.c_void_p, [etx_graph]),
    "etx_graph_offsets": (c.c_void_p, [etx_graph]),
    "etx_graph_scores": (c.c_void_p, [etx_graph]),
    "etx_graph_device_index": (c.c_int32, [etx_graph]),
    "etx_graph_src_device": (c.c_void_p, [etx_graph]),
    "etx_graph_dst_device": (c.c_void_p, [etx_graph]),
    "etx_graph_offsets_device": (c.c_void_p, [etx_graph]),
    "etx_graph_scores_device": (c.c_void_p, [etx_graph]),
    "etx_graph_set_scores": (c.c_int32, [etx_graph, c.c_void_p]),
    "etx_graph_set_edge_features": (c.c_int32, [etx_graph, Int64, c.c_void_p]),
    "etx_graph_n_edge_features": (c.c_int64, [etx_graph]),
    "etx_graph_edge_features": (c.c_void_p, [etx_graph]),
    "etx_graph_free": (None, [etx_graph]),
    "etx_graph_partition": (c.c_int32, [
        c.c_void_p, etx_graph, etx_event, Int32, Int32,
    ]),
    "etx_graph_part_create": (c.c_int32, [
        c.c_void_p, etx_graph, c.c_void_p, Int32, Int32,
    ]),
    "etx_graph_part_graph": (etx_graph, [etx_graph_part]),
    "etx_graph_part_nodes": (c.c_void_p, [etx_graph_part]),
    "etx_graph_part_edges": (c.c_void_p, [etx_graph_part]),
    "etx_graph_part_n_own_edges": (c.c_int64, [etx_graph_part]),
    "etx_graph_part_sent": (c.c_void_p, [etx_graph_part]),
    "etx_graph_part_received": (c.c_void_p, [etx_graph_part]),
    "etx_graph_part_score": (c.c_int32, [
        c.c_void_p, etx_graph_part, etx_context, etx_model, etx_event,
        c.c_void_p,
    ]),
    "etx_graph_part_free": (None, [etx_graph_part]),
    "etx_trainer_create": (c.c_int32, [
        c.c_void_p, etx_context, c.c_char_p, etx_model,
    ]),
    "etx_trainer_add_event": (c.c_int32, [etx_trainer, etx_event, Int32]),
    "etx_trainer_set_cache": (c.c_int32, [etx_trainer, c.c_char_p]),
    "etx_trainer_set_parts": (c.c_int32, [
        etx_trainer, Int32, Int32, Int32, c.c_void_p,
    ]),
    "etx_model_learn_completion": (c.c_int32, [
        c.c_void_p, etx_model, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_model_learn_first_pass": (c.c_int32, [
        c.c_void_p, etx_model, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_module_map_options_init": (c.c_int32, [c.c_void_p, c.c_size_t]),
    "etx_model_learn_module_map": (c.c_int32, [
        c.c_void_p, etx_model, Int64, c.c_void_p, c.c_void_p,
    ]),
    "etx_trainer_set_team": (c.c_int32, [etx_trainer, c.c_void_p]),
    "etx_trainer_add_event_of_rank": (c.c_int32, [
        etx_trainer, etx_event, Int64, Int32, Int32,
    ]),
    "etx_gradient_sum": (c.c_int32, [c.c_void_p, Int64, Int64]),
    "etx_trainer_steps_done": (c.c_int64, [etx_trainer]),
    "etx_trainer_n_steps": (c.c_int64, [etx_trainer]),
    "etx_trainer_epoch_steps": (c.c_int64, [etx_trainer]),
    "etx_trainer_is_new": (c.c_int32, [etx_trainer]),
    "etx_trainer_is_finished": (c.c_int32, [etx_trainer]),
    "etx_trainer_step": (c.c_int32, [c.c_void_p, etx_trainer]),
    "etx_trainer_validate": (c.c_int32, [c.c_void_p, etx_trainer]),
    "etx_trainer_save_checkpoint": (c.c_int32, [etx_trainer, c.c_char_p]),
    "etx_trainer_load_checkpoint": (c.c_int32, [etx_trainer, c.c_char_p]),
    "etx_trainer_hash": (c.c_uint64, [etx_trainer]),
    "etx_trainer_model": (c.c_int32, [c.c_void_p, etx_trainer]),
    "etx_trainer_free": (None, [etx_trainer]),
}
