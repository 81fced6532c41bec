/* api/model.c -- models: load, save, describe.
 *
 * Numbers are written with printf, which follows the rounding mode: here too
 * the default floating-point environment matters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "base/check.h"
#include "io/config.h"
#include "io/model_file.h"
#include "stage/options.h"

etx_status etx_model_load(etx_model **out, const char *path)
{
    ETX_FORWARD(etx_model_read(out, path), ETX_GIVEN(out), ETX_GIVEN(path));
}

etx_status etx_model_load_memory(etx_model **out, const void *data, size_t size)
{
    ETX_FORWARD(
        etx_model_parse(out, data, size), ETX_GIVEN(out), ETX_GIVEN(data));
}

etx_status etx_model_save(const etx_model *model, const char *path)
{
    ETX_FORWARD(
        etx_model_write(model, path), ETX_GIVEN(model), ETX_GIVEN(path));
}

const char *etx_model_describe(const etx_model *model)
{
    return model == NULL ? "" : model->config;
}

int32_t etx_model_has_stage(const etx_model *model, int32_t stage)
{
    if (model == NULL)
        return 0;
    switch (stage) {
    case ETX_STAGE_EMBEDDING:
        return model->embedding.network != NULL;
    case ETX_STAGE_GRAPH:
        return model->module_map != NULL;
    case ETX_STAGE_FILTER:
        return model->filter.network != NULL;
    case ETX_STAGE_GNN:
        return model->gnn.network != NULL;
    case ETX_STAGE_COMPLETION:
        return model->completion != NULL;
    case ETX_STAGE_FIRST_PASS:
        return model->first_pass != NULL;
    default:
        return 0;
    }
}

/* A caller of an older header would lose what the model sets beyond it. */
static etx_status check_fits(size_t size, const etx_label_options *label)
{
    const char *set = (const char *)label;
    etx_label_options preset = {.struct_size = 0};
    const char *defaults = (const char *)&preset;

    etx_options_preset(&preset, &etx_label_options_type);
    for (size_t i = size; i < sizeof *label; i++)
        if (set[i] != defaults[i])
            return etx_fail(ETX_ERR_UNSUPPORTED,
                "label options: byte %zu of %zu is set by the model, the "
                "caller knows only the first %zu: compile it with the headers "
                "of this library",
                i, sizeof *label, size);
    return ETX_OK;
}

etx_status etx_model_label_options(
    etx_label_options *out, const etx_model *model)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(model), ETX_END));
    ETX_CHECK(etx_report_check(
        out, etx_label_options_type.first_size, etx_label_options_type.name));
    ETX_CHECK(check_fits(out->struct_size, &model->label));
    ETX_CHECK(etx_options_write(
        out, out->struct_size, &model->label, &etx_label_options_type));
done:
    return etx_call_end(&host, status);
}
