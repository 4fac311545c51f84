/* pmi_client.h - the key-value exchange offered by the launcher that started this process
 *
 * Speaks PMI-1, the plain-text protocol of MPICH's process managers, on the descriptor in
 * PMI_FD: muster answers it, and so does mpirun.mpich. Ranks store short texts under names,
 * meet in a barrier, and get what the others have stored. Nothing listens on a port, and no
 * rank needs an address.
 *
 * A program that no launcher started is alone: rank 0 of 1.
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
    int    fd;         /* -1: started alone */
    int    rank, size;
    double timeout_s;  /* for one answer, and for the slowest rank in a barrier */
    bool   timed_out;  /* the last failure was this deadline */
    int    key_max, value_max; /* limits of the server, NUL included */
    char   kvsname[PMI_NAME_MAX];
    char   in[PMI_LINE_MAX];   /* bytes read and not used yet */
    size_t in_size;
};

/* Read PMI_FD, PMI_RANK and PMI_SIZE and greet the server. Each of these functions returns 0,
 * or -1 with the reason in err; after a failure only call pmi_abort() and exit. */
int pmi_init(struct pmi *pmi, double timeout_s, struct error *err);

/* Key and value must not contain blanks: use hex_encode() for what may. */
int pmi_put(struct pmi *pmi, const char *key, const char *value, struct error *err);

/* Wait for all ranks. Afterwards every rank sees what was put before. */
int pmi_barrier(struct pmi *pmi, struct error *err);

/* The value of a key into value[size]. An error when alone: nobody has put anything. */
int pmi_get(struct pmi *pmi, const char *key, char *value, size_t size, struct error *err);

/* Leave in order. A rank that exits without this has failed, whatever its status. */
int pmi_finalize(struct pmi *pmi, struct error *err);

/* Ask the launcher to end all ranks; code becomes the exit status of the run. */
void pmi_abort(struct pmi *pmi, int code);

/* text needs 2 * size + 1. decode: the number of bytes, or -1 if text is not hex or holds more
 * than size bytes. */
void hex_encode(const void *bytes, size_t size, char *text);
int  hex_decode(const char *text, void *bytes, size_t size);

#endif
