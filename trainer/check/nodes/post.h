/* post.h - texts that ranks store at the launcher for each other, through PMI
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POST_H
#define MUSTER_POST_H

#include "comm/pmi_client.h"

#define POST_MAX 8192 /* bytes of a text; longer texts are truncated */

/* Stores text under name for the other ranks, which can get it after the next barrier. 0, or -1
 * with err. */
int post_put(struct pmi *pmi, const char *name, const char *text, struct error *err);

/* Returns the text that rank has stored under name; the caller frees it. NULL with err. */
char *post_get(struct pmi *pmi, const char *name, int rank, struct error *err);

#endif
