/* environ_kept.h - which variables of this process do not reach the ranks, though scripts often
 * read them
 *
 * On one machine ranks get the whole environment, on several only part of it (environ.h). A token
 * or a proxy that is missing there shows minutes later, as a download that fails.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENVIRON_KEPT_H
#define MUSTER_ENVIRON_KEPT_H

#include "options/options.h"
#include "strlist.h"

/* Adds the names to kept. here: the environment of this process (NULL-terminated); passed: what a
 * rank gets, as from environ_collect(). */
void environ_kept(char *const *here, const struct strlist *passed, struct strlist *kept);

/* Names them with -v, and warns of patterns of --env that take nothing. */
void environ_tell(const struct options *options, char *const *here,
                  const struct strlist *passed);

#endif
