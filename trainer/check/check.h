/* check.h - muster-train check: are these nodes fit for a run?
 *
 * In this order, so that the first thing that is wrong is the one that is named:
 * the ranks that are here are those that were launched, and their nodes are alike; they reach
 * each other; they can be connected; what they send arrives unchanged; how fast between each
 * two nodes; how fast all together; does one compute more slowly. Rank 0 tells.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECK_H
#define MUSTER_CHECK_H

/* Exit statuses, as --help tells them. */
enum check_status {
    CHECK_OK = 0,
    CHECK_WRONG = 1,    /* an element was not what it must be */
    CHECK_USAGE = 2,    /* or the results could not be written */
    CHECK_BACKEND = 3,  /* no communicator, or it broke */
    CHECK_TIMEOUT = 4,
    CHECK_NOT_ALL = 5,  /* the ranks here are not the ranks launched */
    CHECK_UNREACHED = 6, /* nodes do not reach each other */
    CHECK_SLOW = 7,     /* all is right, but a node or a link is slow */
};

int check_main(int argc, char **argv);

#endif
