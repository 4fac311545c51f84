/* answer.h - what a program of others prints, such as git, nodeset or flux
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ANSWER_H
#define MUSTER_ANSWER_H

#include <stddef.h>

#include "err.h"

#define ANSWER_CANNOT_RUN 127
#define ANSWER_NONE       (-1) /* none in time, too long a one, or it could not be read */

/* Executes argv[0], which may be on PATH, without input, and waits until it has ended, at most
 * limit_s seconds. Returns its exit status with what it printed in *text (*size bytes and a final
 * NUL; the caller frees it). If the status is not 0, *text is NULL and err says what it wrote to
 * stderr, and if it could not be started or gave no answer, why. Messages begin with argv[0].
 *
 * Whatever it has started in its process group is killed with it, also if a signal ends muster. */
int answer_ask(const char *const argv[], int limit_s, size_t max, char **text, size_t *size,
               struct error *err);

#endif
