/* test/conformance/test_conformance_options.c -- options of networks.
 *
 * Known networks have the parameter counts that their authors print, names
 * are unique, and whatever is wrong with an option is said by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static etx_status create(struct etx_network **out, const char *arch,
    int32_t n_node_features, int32_t n_edge_features, const char *options)
{
    struct etx_edge_feature_list list = {.n_features = n_edge_features};
    struct etx_json *object = network_json(options);
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < n_edge_features; k++) {
        list.feature[k] = k;
        list.scale[k] = 1.0f;
    }
    status = etx_network_create(out, arch, n_node_features, &list, object);
    etx_json_free(object);
    return status;
}

/* ------------------------------------------------------------- counts -- */

#define QUICKSTART                                                             \
    "'encoder_layers': 3, 'edge_encoder_layers': 3, 'node_layers': 3,"         \
    " 'edge_layers': 3, 'decoder_layers': 4, 'edge_update': 'old',"            \
    " 'aggregation': ['max', 'sum'], 'aggregate_at': 'target',"                \
    " 'node_recurrent': true, 'edge_recurrent': true,"                         \
    " 'edge_from_latents': true, 'edge_from_nodes': false,"                    \
    " 'direction': 'doubled_first_half'"

struct counted {
    const char *arch;
    const char *options;
    int32_t n_node_features, n_edge_features;
    int64_t n_values;
};

/* Of the notebooks and checkpoints of Exa.TrkX; of PROTOTYPE-sized networks
 * counted by hand. */
static const struct counted counts[] = {
    {"mlp",
        "{'hidden': [1024, 1024, 1024, 1024], 'n_out': 12,"
        " 'activation': 'tanh'}",
        12, 0, 3182604},
    {"mlp",
        "{'hidden': [512, 512, 512, 512, 512, 512], 'n_out': 8,"
        " 'activation': 'tanh', 'norm': 'none'}",
        3, 0, 2048 + 5 * 262656 + 4104},
    {"mlp", NULL, 5, 0, 1536 + 2 * 65792 + 3 * 512 + 2056},
    {"interaction_network", "{'hidden': 32, 'n_iterations': 6, " QUICKSTART "}",
        3, 0, 22817},
    {"interaction_network",
        "{'hidden': 128, 'n_iterations': 6, " QUICKSTART "}", 12, 0, 350465},
    {"interaction_network",
        "{'hidden': 128, 'n_iterations': 6, " QUICKSTART "}", 3, 0, 349313},
    {"attention_gnn",
        "{'encoder_hidden': [64, 64], 'edge_hidden': [67, 67, 67],"
        " 'node_hidden': [64, 64], 'node_input': 'messages_node'}",
        3, 0, 44803},
    {"attention_gnn", "{'encoder_hidden': []}", 3, 0, 26433},
    {"edge_filter", "{'hidden': [512, 512, 512], 'style': 'vanilla'}", 12, 0,
        12800 + 2 * 262656 + 513 + 1024},
    {"graph_convolution",
        "{'encoder': false, 'residual': false, 'norm': 'none',"
        " 'n_iterations': 2, 'hidden': 16, 'decoder_hidden': []}",
        3, 2, 4 * 16 + 17 * 16 + 35},
    {"triplet_gnn",
        "{'doublet_hidden': [], 'triplets': {'n_iterations': 0,"
        " 'encoder_layers': 1, 'edge_encoder_layers': 1,"
        " 'decoder_layers': 1, 'hidden': 4}}",
        3, 2, 9 + 9 * 4 + 17 * 4 + 13},
    {"edge_filter", "{'hidden': [64, 64]}", 4, 9,
        18 * 64 + 65 * 64 + 4 * 64 + 65},
};

ETX_TEST(test_options_parameter_count, .rows = ROWS(counts))
{
    const struct counted *which = &counts[_i];
    scoped_network *network = NULL;
    const etx_status status = create(&network, which->arch,
        which->n_node_features, which->n_edge_features, which->options);

    ck_assert_msg(status == ETX_OK, "%s", etx_last_error());
    ck_assert_int_eq(network->n_values, which->n_values);
}

/* Names are unique, arrays lie one after the other, initial values are
 * right for their kind and depend on the seed alone. */
ETX_TEST(test_options_parameters, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 1);
    int64_t next = 0;

    etx_network_init(network, 5);
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        const float bound = 1.0f / sqrtf((float)parameter->fan_in);

        ck_assert_int_eq(parameter->offset, next);
        next += n;
        ck_assert_int_eq(parameter->decays, !parameter->is_vector);
        for (int32_t q = 0; q < p; q++)
            ck_assert_str_ne(parameter->name, network->parameter[q].name);
        for (int64_t v = parameter->offset; v < next; v++) {
            if (parameter->init == ETX_INIT_UNIFORM)
                ck_assert(fabsf(network->value[v]) <= bound);
            else
                ck_assert(network->value[v] ==
                          (parameter->init == ETX_INIT_ONE ? 1.0f : 0.0f));
        }
    }
    ck_assert_int_eq(next, network->n_values);
}

ETX_TEST(test_options_init_repeats)
{
    scoped_network *a = NULL;
    scoped_network *b = NULL;
    size_t bytes = 0;

    ck_assert_ok(create(&a, "mlp", 4, 0, NULL));
    ck_assert_ok(create(&b, "mlp", 4, 0, NULL));
    bytes = (size_t)a->n_values * sizeof *a->value;
    for (int64_t v = 0; v < a->n_values; v++)
        ck_assert(a->value[v] == 0.0f);
    etx_network_init(a, 77);
    etx_network_init(b, 77);
    ck_assert_int_eq(memcmp(a->value, b->value, bytes), 0);
    etx_network_init(b, 78);
    ck_assert_int_ne(memcmp(a->value, b->value, bytes), 0);
}

/* -------------------------------------------------------------- wrong -- */

struct wrong {
    const char *arch;
    const char *options;
    int32_t n_node_features, n_edge_features;
    etx_status status;
    const char *message; /* a piece of it */
};

static const struct wrong wrongs[] = {
    {"transformer", "{}", 3, 0, ETX_ERR_FORMAT, "'transformer'"},
    {"transformer", "{}", 3, 0, ETX_ERR_FORMAT, "interaction_network"},
    {"mlp", "[]", 3, 0, ETX_ERR_FORMAT, "a list, expected an object"},
    {"mlp", "{'hiden': [4]}", 3, 0, ETX_ERR_FORMAT, "'hiden'"},
    {"mlp", "{'hidden': 4}", 3, 0, ETX_ERR_FORMAT, "'hidden'"},
    {"mlp", "{'hidden': [4, 0]}", 3, 0, ETX_ERR_FORMAT, "1 to 65536"},
    {"mlp", "{'hidden': [4, 65537]}", 3, 0, ETX_ERR_FORMAT, "65537"},
    {"mlp", "{'hidden': [4, 1e2]}", 3, 0, ETX_ERR_FORMAT, "integer"},
    {"mlp", "{'hidden': [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", 3, 0,
        ETX_ERR_FORMAT, "at most 15"},
    {"mlp", "{'hidden': [65536, 65536]}", 3, 0, ETX_ERR_LIMIT,
        "layers.1.weight"},
    {"mlp", "{'n_out': 9223372036854775807}", 3, 0, ETX_ERR_FORMAT,
        "9223372036854775807"},
    {"mlp", "{'n_out': -1}", 3, 0, ETX_ERR_FORMAT, "1 to 1024"},
    {"mlp", "{'n_out': null}", 3, 0, ETX_ERR_FORMAT, "null"},
    {"mlp", "{'activation': 'swish'}", 3, 0, ETX_ERR_FORMAT, "'swish'"},
    {"mlp", "{'activation': 'swish'}", 3, 0, ETX_ERR_FORMAT, "silu"},
    {"mlp", "{'activation': 3}", 3, 0, ETX_ERR_FORMAT, "integer"},
    {"mlp", "{'norm_eps': 0}", 3, 0, ETX_ERR_FORMAT, "'norm_eps' is 0"},
    {"mlp", "{'norm_eps': 'small'}", 3, 0, ETX_ERR_FORMAT, "a text"},
    {"mlp", "{'norm_affine': 1}", 3, 0, ETX_ERR_FORMAT, "true or false"},
    {"mlp", "{}", 0, 0, ETX_ERR_FORMAT, "no input"},
    {"mlp", "{}", -1, 0, ETX_ERR_ARGUMENT, "-1 node features"},
    {"mlp", "{}", 3, 2, ETX_ERR_FORMAT, "2 edge features"},
    {"edge_filter", "{}", 0, 0, ETX_ERR_FORMAT, "no input"},
    {"edge_filter", "{'style': 'vanilla', 'hidden': [8, 4]}", 3, 0,
        ETX_ERR_FORMAT, "equal widths"},
    {"edge_filter", "{'order': 'both'}", 3, 0, ETX_ERR_FORMAT,
        "source_target, target_source"},
    {"attention_gnn", "{'n_iterations': 65}", 3, 0, ETX_ERR_FORMAT, "0 to 64"},
    {"attention_gnn", "{}", 3, 1, ETX_ERR_FORMAT, "reads none"},
    {"attention_gnn", "{}", 0, 0, ETX_ERR_FORMAT, "node_encoder"},
    {"graph_convolution", "{'n_iterations': 65}", 3, 0, ETX_ERR_FORMAT,
        "0 to 64"},
    {"graph_convolution", "{}", 0, 0, ETX_ERR_FORMAT, "node_encoder"},
    {"graph_convolution", "{'encoder': false, 'encoder_hidden': [3]}", 3, 0,
        ETX_ERR_FORMAT, "'encoder_hidden' has 1"},
    {"graph_convolution", "{'encoder': false, 'recurrent': true}", 3, 0,
        ETX_ERR_FORMAT, "(3) as 'hidden' (64)"},
    {"lorentz_network", "{}", 3, 0, ETX_ERR_FORMAT,
        "3 node features, but the first 4 are the four-vector"},
    {"lorentz_network", "{'ratio': 0.5}", 4, 0, ETX_ERR_FORMAT, "'ratio'"},
    {"triplet_gnn", "{'max_triplets': -1}", 3, 0, ETX_ERR_FORMAT,
        "'max_triplets' is -1"},
    {"triplet_gnn", "{'hidden': 4}", 3, 0, ETX_ERR_FORMAT, "'hidden'"},
    {"triplet_gnn", "[]", 3, 0, ETX_ERR_FORMAT, "a list, expected an object"},
    {"triplet_gnn", "{}", 0, 0, ETX_ERR_FORMAT, "no input"},
    {"interaction_network", "{'hidden': 4097}", 3, 0, ETX_ERR_FORMAT,
        "'hidden' is 4097"},
    {"interaction_network",
        "{'hidden': 4096, 'node_layers': 16,"
        " 'n_iterations': 64}",
        3, 0, ETX_ERR_LIMIT, "node_network"},
    {"interaction_network", "{'aggregation': []}", 3, 0, ETX_ERR_FORMAT,
        "'aggregation'"},
    {"interaction_network", "{'aggregation': 'sum'}", 3, 0, ETX_ERR_FORMAT,
        "a list"},
    {"interaction_network", "{'aggregation': ['sum', 'median']}", 3, 0,
        ETX_ERR_FORMAT, "'median'"},
    {"interaction_network", "{'edge_from_nodes': false}", 3, 0, ETX_ERR_FORMAT,
        "edge_encoder has no input"},
    {"interaction_network", "{'edge_from_features': false}", 3, 2,
        ETX_ERR_FORMAT, "'edge_from_features'"},
    {"interaction_network", "{'direction': 'undirected'}", 3, 0, ETX_ERR_FORMAT,
        "doubled_mean"},
    {"interaction_network", "{'decoder_layers': 9}", 3, 0, ETX_ERR_FORMAT,
        "1 to 8"},
};

ETX_TEST(test_options_wrong, .rows = ROWS(wrongs))
{
    const struct wrong *which = &wrongs[_i];
    struct etx_network *network = NULL;
    const etx_status status = create(&network, which->arch,
        which->n_node_features, which->n_edge_features, which->options);

    ck_assert_msg(status == which->status, "%s: %s: %s", which->arch,
        which->options, etx_status_name(status));
    ck_assert_msg(strstr(etx_last_error(), which->message) != NULL,
        "%s: expected '%s' in '%s'", which->options, which->message,
        etx_last_error());
    ck_assert_msg(status == ETX_ERR_FORMAT && _i < 2
                      ? 1
                      : strstr(etx_last_error(), which->arch) != NULL,
        "'%s' does not name %s", etx_last_error(), which->arch);
    ck_assert(network == NULL);
}

/* What edge features need and the input lacks. */
static const struct {
    const char *missing;
    struct network_case which;
} missing[] = {
    {"positions", {.n_edge_features = 1}},
    {"score_logit", {.n_edge_features = 1, .with_score = 1}},
    {"log_hough_votes", {.n_edge_features = ETX_EDGE_OWN_0}},
};

ETX_TEST(test_options_missing_input, .rows = 2 * ROWS(missing))
{
    struct network_case which = missing[_i / 2].which;
    scoped_trial trial;

    which.name = "missing";
    which.arch = _i % 2 == 0 ? "edge_filter" : "interaction_network";
    which.n_node_features = 2;
    network_trial_open(&trial, &which, 1, 8, 10, ETX_CPU_REF);
    if (_i / 2 == 0)
        trial.problem.input.position = NULL;
    if (_i / 2 == 1)
        network_problem_set_edges(
            &trial.problem, 1, (int32_t[]){1}, (int32_t[]){2}, NULL, NULL);
    network_trial_refused(&trial, ETX_ERR_ARGUMENT, missing[_i / 2].missing);
}
