/* board.h - TensorBoard beside a job: a Deployment and the Service that leads to it
 *
 * It sees what the workers' Pods mount from outside, for reading, and stays until the job is
 * deleted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOARD_H
#define MUSTER_BOARD_H

#include <jansson.h>

#include "job/job.h"

#define BOARD_PORT 6006
#define BOARD_ROLE "tensorboard" /* its label, as "worker" and "launcher" */

/* Without apiVersion, kind and name. New references. */
json_t *board_deployment(const struct job *job);
json_t *board_service(const struct job *job);

#endif
