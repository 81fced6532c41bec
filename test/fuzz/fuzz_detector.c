/* fuzz_detector.c -- hostile detector files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/heap.h"
#include "io/detector_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t before = etx_heap_in_use();
    etx_detector *detector = NULL;
    const etx_status status =
        etx_detector_csv_read(&detector, fuzz_text(0, data, size));

    for (int64_t i = 0; i < (detector == NULL ? 0 : detector->n_modules); i++) {
        const struct etx_detector_module *module = &detector->modules[i];
        if (etx_detector_find(detector, module->volume_id, module->layer_id,
                module->module_id) != module)
            __builtin_trap();
    }
    etx_detector_free(detector);
    fuzz_check(status, before);
    return 0;
}
