/* main.c - muster-agent: muster's part on each node
 *
 * Users start muster; muster starts this program, over SSH or by fork, and speaks
 * doc/PROTOCOL with it over standard input and output.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "fd.h"
#include "frame.h"
#include "link/sudo.h"
#include "session/agent.h"
#include "xalloc.h"

static int  read_arguments(int argc, char **argv, const char **nonce);
static const char *read_nonce(void);
static void detach(void);
static void tune_memory(void);

int main(int argc, char **argv)
{
    const char *nonce;
    int         rc = read_arguments(argc, argv, &nonce);

    if (rc >= 0)
        return rc;
    xalloc_libraries();
    detach();
    tune_memory();
    return agent_run(nonce);
}

/* Returns the exit status if there is nothing to run, else -1. */
static int read_arguments(int argc, char **argv, const char **nonce)
{
    static const struct option options[] = {
        { "nonce", required_argument, NULL, 'n' },
        { "version", no_argument, NULL, 'v' },
        { SUDO_CONNECTION_OPTION, required_argument, NULL, 'c' }, /* these two from sudo.c */
        { SUDO_PURPOSE_OPTION, required_argument, NULL, 'f' },
        { NULL, 0, NULL, 0 },
    };
    int letter;

    *nonce = NULL;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (letter == 'v') {
            printf("muster-agent %s, protocol %d\n", PACKAGE_VERSION, FRAME_PROTOCOL);
            return 0;
        }
        if (letter == 'c')
            setenv("SSH_CONNECTION", optarg, 1);
        else if (letter == 'n')
            *nonce = strcmp(optarg, "-") == 0 ? read_nonce() : optarg;
        else if (letter != 'f')
            return EXIT_USAGE;
    }
    if (frame_is_nonce(*nonce) && optind == argc)
        return -1;
    fputs("usage: muster-agent --nonce HEX\n"
          "muster starts it on each node; do not run it by hand.\n"
          "See muster(1) and muster-agent(8).\n", stderr);
    return EXIT_USAGE;
}

/* Reads the nonce from the opening line (doc/PROTOCOL section 1), if the login shell has
 * started us directly. Reads the whole line and nothing after it, since the launcher waits for
 * our answer. NULL: stdin has no opening line. */
static const char *read_nonce(void)
{
    static char line[256];
    size_t      used = 0;
    ssize_t     got;

    while (used < sizeof line && memchr(line, '\n', used) == NULL) {
        got = read(STDIN_FILENO, line + used, sizeof line - used);
        if (got <= 0)
            return NULL;
        used += (size_t)got;
    }
    line[FRAME_NONCE_CHARS] = '\0'; /* in place of a blank */
    return line;
}

/* Leaves the terminal, whose Ctrl-C muster handles, and drops inherited descriptors and the
 * signals that a login shell had blocked or ignored. If memory runs out, the kernel should kill
 * a rank first: lowers our OOM score if that is allowed. */
static void detach(void)
{
    sigset_t none;
    int      fd;

    setsid();
    fd_close_from(3);
    /* 0 to 2 must be open, or the next sockets would get these numbers. */
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= 2);
    close(fd);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* treat a file that is too large as a full disk */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fd_write_file("/proc/self/oom_score_adj", "-500");
}

/* Keeps the output's blocks of 128 KiB on the heap instead of in a mapping each, and does not
 * return heap memory to the kernel in between. */
static void tune_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}
