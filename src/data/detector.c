/* data/detector.c -- module geometry: look-up and release.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/detector.h"

#include "base/heap.h"

static int compare(int32_t a, int32_t b)
{
    return (a > b) - (a < b);
}

/* Order of the module against the three ids. */
static int compare_module(const struct etx_detector_module *module,
    int32_t volume_id, int32_t layer_id, int32_t module_id)
{
    int order = compare(module->volume_id, volume_id);

    if (order == 0)
        order = compare(module->layer_id, layer_id);
    if (order == 0)
        order = compare(module->module_id, module_id);
    return order;
}

const struct etx_detector_module *etx_detector_find(
    const struct etx_detector *detector, int32_t volume_id, int32_t layer_id,
    int32_t module_id)
{
    int64_t low = 0;
    int64_t high = detector->n_modules;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct etx_detector_module *module = &detector->modules[middle];
        const int order =
            compare_module(module, volume_id, layer_id, module_id);

        if (order == 0)
            return module;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void etx_detector_free(etx_detector *detector)
{
    if (detector == NULL)
        return;
    etx_free(detector->modules);
    etx_free(detector);
}
