/* train.h - muster-train --deepspeed_config ...: train a model on the ranks of a run
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TRAIN_H
#define MUSTER_TRAIN_H

enum train_status {
    TRAIN_OK,
    TRAIN_FAILED,
    TRAIN_USAGE,
    TRAIN_TERMINATED = 143 /* stopped by SIGTERM, after saving */
};

int train_main(int argc, char **argv);

#endif
