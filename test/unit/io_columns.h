/* io_columns.h -- first lines of the CSV files that tests write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_IO_COLUMNS_H
#define ETX_TEST_UNIT_IO_COLUMNS_H

/* Of hits. */
#define HEAD "hit_id,x,y,z,volume_id,layer_id,module_id\n"

/* Of detectors, and what may follow the three ids of a module. */
#define DETECTOR_HEAD                                                          \
    "volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,rot_yu,"       \
    "rot_yv,rot_yw,rot_zu,rot_zv,rot_zw,module_t,module_minhu,module_maxhu,"   \
    "module_hv,pitch_u,pitch_v\n"
#define MODULE_TAIL ",0,0,0,1,0,0,0,1,0,0,0,1,0.15,8,8,36,0.05,0.056\n"

#endif
