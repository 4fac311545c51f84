/* check.h - muster-train check: are these nodes fit for a run?
 *
 * The check asks these questions in order, so that it names the first problem: Are the ranks
 * those that were launched, and do their nodes have the same setup? Do the nodes reach each
 * other? Can the ranks be connected? Does data arrive unchanged? How fast is each pair of
 * nodes? How fast are all together? Is a rank slow to compute? Rank 0 reports.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CHECK_H
#define MUSTER_CHECK_H

/* The exit statuses, as in --help. */
enum check_status {
    CHECK_OK = 0,
    CHECK_WRONG = 1,    /* an element has a wrong value */
    CHECK_USAGE = 2,    /* wrong usage, or the results could not be written */
    CHECK_BACKEND = 3,  /* no communicator, or it broke */
    CHECK_TIMEOUT = 4,
    CHECK_NOT_ALL = 5,  /* the ranks are not those that were launched */
    CHECK_UNREACHED = 6, /* some nodes do not reach each other */
    CHECK_SLOW = 7,     /* all results are right, but a node or a link is slow */
};

int check_main(int argc, char **argv);

#endif
