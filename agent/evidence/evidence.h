/* evidence.h - what a message of the kernel says about hardware and storage
 *
 * One table has all messages that muster knows; the numbers of GPU errors are in xid.c. A run
 * reports what comes while it runs, muster doctor and muster bootstrap what came during the
 * last day.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_EVIDENCE_H
#define MUSTER_AGENT_EVIDENCE_H

#include <stdbool.h>

enum evidence_severity {
    EVIDENCE_NOTICE,  /* corrected, or over */
    EVIDENCE_PROGRAM, /* a program can cause it */
    EVIDENCE_ERROR,   /* no program causes it, but it may pass: a file server, memory, a link */
    EVIDENCE_BROKEN,  /* it will happen again until someone repairs, resets or reboots it */
};

#define EVIDENCE_KIND_SIZE 24
#define EVIDENCE_DEVICE_SIZE 80
#define EVIDENCE_WHAT_SIZE 128

struct evidence {
    enum evidence_severity severity;
    char                   kind[EVIDENCE_KIND_SIZE]; /* "xid 79", "nfs": a word for programs */
    char        device[EVIDENCE_DEVICE_SIZE]; /* "GPU 0000:3b:00.0", "te0"; "": not known */
    char        what[EVIDENCE_WHAT_SIZE];     /* "Xid 79, has fallen off the bus" */
    const char *action;                       /* what to do; "": nothing */
    long        pid;    /* of the process that the kernel ended; 0: none */
    bool        is_gpu; /* an error of a GPU that its driver has numbered */
    bool is_echo;       /* the kernel says it a second time, in other words: count it only if it
                           is the first of its kind and device */
};

/* False: the message says nothing of the kind. */
bool evidence_read(const char *text, struct evidence *evidence);

/* "notice", "program", "error" or "broken". */
const char *evidence_severity_name(enum evidence_severity severity);

#endif
