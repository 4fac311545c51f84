/* pmi_client.h - the key-value exchange that whoever started us offers
 *
 * Speaks PMI-1, the plain-text protocol of MPICH's process managers, on the
 * descriptor in PMI_FD: muster answers it, and mpirun.mpich does. Ranks put
 * small texts under names, meet in a barrier, and get what the others have put.
 * Nothing listens on a port and nobody has to know an address.
 *
 * A program that was started by none of them is alone: rank 0 of 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMI_CLIENT_H
#define MUSTER_PMI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define PMI_LINE_MAX 4096 /* a request or an answer; the usual limits need 1400 */
#define PMI_NAME_MAX 256  /* kvsname_max of every server there is */

struct pmi {
    int    fd;         /* -1: we were started alone */
    int    rank, size;
    double timeout_s;  /* for one answer; also for the slowest rank in a barrier */
    bool   timed_out;  /* the last failure was that deadline */
    int    key_max, value_max; /* room the server has, its NUL included */
    char   kvsname[PMI_NAME_MAX];
    char   in[PMI_LINE_MAX];   /* bytes read and not used yet */
    size_t in_size;
};

/* Read PMI_FD, PMI_RANK and PMI_SIZE and greet the server. Each of these
 * returns 0, or -1 with the reason in err; after a failure the only calls that
 * make sense are pmi_abort and leaving. */
int pmi_init(struct pmi *pmi, double timeout_s, struct error *err);

/* Key and value must be without blanks: hex_encode() what is not. */
int pmi_put(struct pmi *pmi, const char *key, const char *value, struct error *err);

/* Waits for all ranks. What was put before is seen by all after it. */
int pmi_barrier(struct pmi *pmi, struct error *err);

/* The value of a key into value[size]. Alone there is nobody to get from. */
int pmi_get(struct pmi *pmi, const char *key, char *value, size_t size, struct error *err);

/* We leave in order. Whoever exits without it has failed, whatever its status. */
int pmi_finalize(struct pmi *pmi, struct error *err);

/* Ask for the end of all ranks; the run's exit status shall be code. */
void pmi_abort(struct pmi *pmi, int code);

/* text needs 2 * size + 1. decode: the number of bytes, or -1 when text is not
 * hex or holds more than size bytes. */
void hex_encode(const void *bytes, size_t size, char *text);
int  hex_decode(const char *text, void *bytes, size_t size);

#endif
