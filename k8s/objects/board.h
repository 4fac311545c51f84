/* board.h - TensorBoard beside a job: a Deployment and its Service
 *
 * TensorBoard mounts the workers' outside volumes read-only, and runs until the job is deleted.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_BOARD_H
#define MUSTER_BOARD_H

#include <jansson.h>

#include "job/job.h"

#define BOARD_PORT 6006
#define BOARD_ROLE "tensorboard" /* its role label, like "worker" and "launcher" */

/* Both return a new reference, without apiVersion, kind and name. */
json_t *board_deployment(const struct job *job);
json_t *board_service(const struct job *job);

#endif
