/* journal_watch.h - follows the journal for as long as ranks run
 *
 * Whether journalctl may read the journal is known when it has shown a message of the kernel, even
 * an old one. One that has not is given up if it ends, or complains; one that has, and ends, is
 * started again, a few times.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_JOURNAL_WATCH_H
#define MUSTER_AGENT_JOURNAL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "evidence/journalctl.h"

#define JOURNAL_STARTS_MAX 4      /* of journalctl in a run */
#define JOURNAL_AGAIN_S    5.0    /* from the end of one to the next */
#define JOURNAL_WORDS_S    2.0    /* that one may take which complains, but shows nothing */
#define JOURNAL_SHOW_S     10.0   /* the same if it is silent; then it is still heard */

struct journal_watch {
    struct journalctl journalctl;
    char             *directory;
    int               starts;
    int64_t           begun_ns, ended_ns; /* of the last start; ended_ns 0: it runs */
    bool              has_shown;  /* one of them has shown a message of the kernel */
    bool              is_given_up;
    struct error      why; /* nothing can be read; text "": it can, or that is not known yet */
};

/* What is known of a journalctl. */
struct journal_course {
    bool   is_over, is_shown, has_words; /* this one has shown a message, or complained */
    bool   has_shown;                    /* it, or one before it */
    int    starts;
    double age_s; /* since it has ended; else since it was started */
};

enum journal_next { JOURNAL_WAIT, JOURNAL_START, JOURNAL_SILENT, JOURNAL_GIVE_UP };

/* Starts journalctl. directory: of the journal; NULL: the system's. Close it in any case. */
void journal_watch_begin(struct journal_watch *watch, const char *directory);
/* Messages that are older than now are skipped from now on. */
void journal_watch_skip(struct journal_watch *watch);
/* Reads what is there, at most about `most` bytes, and does not wait. True: there may be more. */
bool journal_watch_read(struct journal_watch *watch, size_t most, kernel_log_f *take, void *arg);
/* Returns why the journal cannot be read, and what would help; NULL: it can. Until is_last also if
 * that is not known yet. */
const char *journal_watch_why(const struct journal_watch *watch, bool is_last);
void        journal_watch_close(struct journal_watch *watch);

/* Decides what to do about it. */
enum journal_next journal_next(const struct journal_course *course);

#endif
