/* data/detector.c -- module geometry: look-up and release.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/detector.h"

#include "base/heap.h"

int etx_detector_module_compare(const void *left, const void *right)
{
    const struct etx_detector_module *a = left;
    const struct etx_detector_module *b = right;

    if (a->volume_id != b->volume_id)
        return a->volume_id < b->volume_id ? -1 : 1;
    if (a->layer_id != b->layer_id)
        return a->layer_id < b->layer_id ? -1 : 1;
    return (a->module_id > b->module_id) - (a->module_id < b->module_id);
}

const struct etx_detector_module *etx_detector_find(
    const struct etx_detector *detector, int32_t volume_id, int32_t layer_id,
    int32_t module_id)
{
    const struct etx_detector_module key = {
        .volume_id = volume_id, .layer_id = layer_id, .module_id = module_id};
    int64_t low = 0;
    int64_t high = detector->n_modules;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct etx_detector_module *module = &detector->modules[middle];
        const int order = etx_detector_module_compare(module, &key);

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
