/* post.h - texts that ranks leave for each other at the launcher, through PMI
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POST_H
#define MUSTER_POST_H

#include "comm/pmi_client.h"

#define POST_MAX 8192 /* bytes of a text; what is longer is cut there */

/* Leave text under name for all others, who find it after the next barrier. 0, or -1. */
int post_put(struct pmi *pmi, const char *name, const char *text, struct error *err);

/* What rank has left there, to free; NULL with err. */
char *post_get(struct pmi *pmi, const char *name, int rank, struct error *err);

#endif
