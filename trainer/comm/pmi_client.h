/* pmi_client.h - the key-value exchange of the launcher that started this process
 *
 * Speaks PMI-1, the plain-text protocol of MPICH's process managers, on the descriptor in
 * PMI_FD. muster and mpirun.mpich both answer it. Ranks store short texts under keys, wait for
 * each other in a barrier, and get the texts that the others have stored. PMI needs no
 * listening port, and no rank needs an address.
 *
 * A program that was started without a launcher is alone: rank 0 of 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMI_CLIENT_H
#define MUSTER_PMI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define PMI_LINE_MAX 4096 /* of a request or an answer; the usual limits need 1400 */
#define PMI_NAME_MAX 256  /* kvsname_max of all known servers */

struct pmi {
    int    fd;         /* -1: started alone */
    int    rank, size;
    double timeout_s;  /* for one answer, and for the slowest rank in a barrier */
    bool   timed_out;  /* the last failure was this timeout */
    int    key_max, value_max; /* the server's limits, including the NUL */
    char   kvsname[PMI_NAME_MAX];
    char   in[PMI_LINE_MAX];   /* bytes read but not yet used */
    size_t in_size;
};

/* Reads PMI_FD, PMI_RANK and PMI_SIZE and initializes the connection to the server. Each of
 * these functions returns 0, or -1 with the reason in err; after a failure only call
 * pmi_abort() and exit. */
int pmi_init(struct pmi *pmi, double timeout_s, struct error *err);

/* Key and value must not contain blanks; encode other values with hex_encode(). */
int pmi_put(struct pmi *pmi, const char *key, const char *value, struct error *err);

/* Waits for all ranks. Afterwards every rank can get the values put before the barrier. */
int pmi_barrier(struct pmi *pmi, struct error *err);

/* Copies the value of a key to value[size]. Fails without a launcher: no rank has put
 * anything. */
int pmi_get(struct pmi *pmi, const char *key, char *value, size_t size, struct error *err);

/* Finalizes the connection to the launcher. A rank that exits without this call has failed,
 * whatever its exit status. */
int pmi_finalize(struct pmi *pmi, struct error *err);

/* Asks the launcher to kill all ranks; code becomes the exit status of the run. */
void pmi_abort(struct pmi *pmi, int code);

/* hex_encode() writes 2 * size + 1 bytes to text. hex_decode() returns the number of bytes, or
 * -1 if text is not hex or holds more than size bytes. */
void hex_encode(const void *bytes, size_t size, char *text);
int  hex_decode(const char *text, void *bytes, size_t size);

#endif
