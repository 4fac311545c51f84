/* monitor.h - writes each step's figures to files: csv_monitor and tensorboard of ds_config
 *
 *     OUTPUT_PATH/JOB_NAME/Train_Samples_lr.csv          step,lr
 *     OUTPUT_PATH/JOB_NAME/events.out.tfevents....       the same for TensorBoard
 *
 * As in DeepSpeed, a step's number is the number of samples so far. If a file cannot be written
 * any more, the monitor reports it once, and the training continues without the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MONITOR_H
#define MUSTER_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/ds_config.h"
#include "err.h"
#include "report/figures.h"

struct monitor;

/* Opens the files that the configuration asks for, which may be none. Only rank 0 calls it.
 * evaluates: there will be evaluations. Messages go to notes. -1 with err if a directory or file
 * cannot be created. */
int  monitor_open(struct monitor **monitor, const struct ds_config *config, bool evaluates,
                  FILE *notes, struct error *err);
void monitor_close(struct monitor *monitor); /* NULL is fine */

void monitor_write(struct monitor *monitor, const struct figures *figures); /* NULL is fine */
void monitor_write_evaluation(struct monitor *monitor, int64_t samples,
                              double loss); /* NULL is fine */

#endif
