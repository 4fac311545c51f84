/* collectives.h - what NCCL's counts of collectives say: which ranks wait for which
 *
 * One record per world. Each look brings the counts of all its communicators, as an agent has read
 * them from NCCL's RAS. Ranks launch collectives ahead of their GPUs, so that counts of a run that
 * works differ in a look, and others in the next. Counts that differ and are the same in three
 * looks in a row are of ranks that wait for each other. Plain arithmetic: it reads no clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COLLECTIVES_H
#define MUSTER_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "err.h"
#include "strlist.h"

#define COLLECTIVES_EVERY_S   30.0
#define COLLECTIVES_LOOKS     3  /* in a row with the same counts */
#define COLLECTIVES_COMMS_MAX 32 /* that an agent describes */
#define COLLECTIVES_PRINT     17 /* 16 digits */

/* Starts as { 0 }. Only collectives.c writes it. */
struct collectives {
    json_t *last;    /* the body of the last answer with counts; NULL: there was none */
    double  last_s;  /* when it came */
    double  moved_s; /* since when all counts of the world are the same */
    int     looks;   /* with these counts */
    struct still {   /* the communicators of last["list"], in that order */
        double since_s; /* since when its counts are the same */
        int    looks;
    } still[COLLECTIVES_COMMS_MAX];
};

/* Writes the name of a rank of the world, "rank 3 on te2". */
typedef void collectives_name_f(int rank, char *name, size_t size, const void *arg);

/* Returns the seconds between two looks, so that three of them come before --hang-timeout ends a
 * run. hang_timeout_s: HANG_AUTO, or 0: there is none. */
double collectives_every_s(double hang_timeout_s);

/* The ranks start again. */
void collectives_again(struct collectives *of);

/* Takes the body of COLLECTIVES. -1 with err: it is not what doc/PROTOCOL says. */
int collectives_take(struct collectives *of, const json_t *body, double now_s, struct error *err);

/* Returns for how long ranks that have launched different numbers of a collective have launched
 * no other, nor any other rank one in any communicator; negative: that is not so. */
double collectives_stuck_s(const struct collectives *of, double now_s);

/* Adds a line about each communicator whose ranks wait for each other: who has launched how
 * many. */
void collectives_words(const struct collectives *of, double now_s, collectives_name_f *name,
                       const void *arg, struct strlist *lines);

/* Returns what is known, a new object; null: nothing. */
json_t *collectives_json(const struct collectives *of, double now_s);

#endif
