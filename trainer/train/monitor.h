/* monitor.h - the figures of each step in files: csv_monitor and tensorboard of ds_config
 *
 *     OUTPUT_PATH/JOB_NAME/Train_Samples_lr.csv          step,lr
 *     OUTPUT_PATH/JOB_NAME/events.out.tfevents....       the same for TensorBoard
 *
 * As DeepSpeed has it, a step's number is that of the samples so far. A file that cannot be
 * written any more is named once; the training goes on without it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MONITOR_H
#define MUSTER_MONITOR_H

#include <stdint.h>
#include <stdio.h>

#include "config/ds_config.h"
#include "err.h"

/* Of one step; NAN: there is none. */
struct monitor_step {
    int64_t samples; /* so far */
    double  loss, lr, scale, norm;
    double  forward_s, backward_s, update_s;
};

struct monitor;

/* What the configuration asks for, which may be nothing; for rank 0 only. Messages go to notes.
 * -1 with err: a directory or file cannot be made. */
int  monitor_open(struct monitor **monitor, const struct ds_config *config, FILE *notes,
                  struct error *err);
void monitor_close(struct monitor *monitor); /* NULL is fine */

void monitor_write(struct monitor *monitor, const struct monitor_step *step); /* NULL is fine */

#endif
