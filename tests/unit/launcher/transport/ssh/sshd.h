/* sshd.h - a real sshd for tests, on a private port of 127.0.0.1
 *
 * It runs as the current user, with keys and a home directory of its own in a
 * new directory; nothing of ~/.ssh or /etc/ssh is read or written, but that
 * sshd as root wants /run/sshd to exist.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TEST_SSHD_H
#define MUSTER_TEST_SSHD_H

#include <stdbool.h>
#include <sys/types.h>

struct sshd {
    char  dir[64]; /* id, host_key, known_hosts, ssh_config, home/ */
    int   port;
    pid_t pid;
};

/* False where there is no sshd or ssh-keygen; says so on stdout. */
bool sshd_is_there(void);

/* extra: lines that come first in sshd_config, where %s is dir. False when it
 * does not start. */
bool sshd_start(struct sshd *sshd, const char *extra);
void sshd_stop(struct sshd *sshd); /* and removes dir */
/* It was built with that option, and has it: "usepam no". */
bool sshd_knows(const struct sshd *sshd, const char *option);

/* Write a file dir/name, printf style. */
void sshd_file(const struct sshd *sshd, const char *name, int mode, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The client's ssh_config again, with lines in front of it. */
void sshd_client_config(const struct sshd *sshd, const char *lines);

/* Run a command line with sh; its exit status. */
int sshd_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
