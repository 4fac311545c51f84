/* journalctl.h - a journalctl of our own, which shows what the kernel logs
 *
 * journald keeps the kernel's log, too, and members of the groups systemd-journal and adm may read
 * its journal where /dev/kmsg is for root alone. journalctl reads it for us, as a child without a
 * shell, a terminal or our environment, in a session of its own; it dies with us. Where we do not
 * read, the pipe fills, and journalctl waits.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_JOURNALCTL_H
#define MUSTER_AGENT_JOURNALCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "evidence/journal_entry.h"
#include "evidence/kernel_log.h"

#define JOURNALCTL_LINE_MAX (32u << 10) /* bytes of an entry; a longer one is skipped */
#define JOURNALCTL_WORDS_MAX 300        /* bytes of its stderr that are kept */

struct journalctl {
    pid_t   pid;      /* 0: it has ended, or there never was one */
    int     out, err; /* our ends of its pipes; -1: closed */
    int     status;   /* as of waitpid(), once it has ended */
    char    boot[JOURNAL_BOOT_SIZE];
    int64_t since_us; /* since boot: what is older is skipped */
    int64_t last_us;  /* of the last message that was taken; 0: none was */
    long    shown;    /* messages of the kernel, older ones as well */
    char   *line;     /* an entry that has not ended yet */
    size_t  size;
    bool    is_long; /* that entry is longer than JOURNALCTL_LINE_MAX */
    char    words[JOURNALCTL_WORDS_MAX + 1]; /* its stderr, in one line */
    size_t  word_size;
};

/* Begins to follow the journal, after its last entries, or reads that of the last day to its end.
 * directory: of the journal; NULL: the system's. Messages before since_us are skipped. -1 with why
 * there is no journalctl. Close it in any case. */
int  journalctl_open(struct journalctl *journalctl, const char *directory, bool follows,
                     int64_t since_us, struct error *err);
/* Reads what is there, at most about `most` bytes, without waiting. True: there may be more. */
bool journalctl_read(struct journalctl *journalctl, size_t most, kernel_log_f *take, void *arg);
/* Takes bytes of its output, which may end within an entry. */
void journalctl_feed(struct journalctl *journalctl, const char *bytes, size_t size,
                     kernel_log_f *take, void *arg);
bool journalctl_is_over(const struct journalctl *journalctl);
/* Ends it, and waits for that, a second at most. */
void journalctl_close(struct journalctl *journalctl);

#endif
