/* escape.c - a process that does not want to end with its run
 *
 *     escape child TAG FILE     leaves a child in its own process group behind
 *     escape daemon TAG FILE    a daemon: two forks, a session of its own, cwd /
 *     escape hidden TAG FILE    the same with an empty environment and another name
 *     escape storm TAG FILE     chains of processes: each forks the next one and ends, so that
 *                               none is there when it has been found. They pause while the machine
 *                               is full of processes, which others need, too
 *
 * What stays behind ignores every signal that can be ignored, makes FILE once
 * it is what it wants to be, and sleeps. TAG is in its arguments, so that the
 * tests find it. The process that was called ends with 0 once FILE is there.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define CHAINS     6
#define CROWD      8000          /* of the 32768 that a small machine has numbers for */
#define OTHER_NAME "kworker/0:9" /* hides it from whoever kills by name */

static int  leave_behind(const char *kind, const char *tag, const char *file);
static int  storm(const char *file);
static int  is_crowded(void);
static int  stay(const char *file);
static int  await(const char *file);

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: escape child|daemon|hidden|storm TAG FILE\n");
        return 2;
    }
    if (strcmp(argv[1], "stay") == 0)
        return stay(argv[3]);
    if (strcmp(argv[1], "storm") == 0)
        return storm(argv[3]);
    return leave_behind(argv[1], argv[2], argv[3]);
}

static int leave_behind(const char *kind, const char *tag, const char *file)
{
    int   is_hidden = strcmp(kind, "hidden") == 0, is_child = strcmp(kind, "child") == 0, fd;
    char *nothing[] = { NULL };
    pid_t pid = fork();

    if (pid < 0)
        return 1;
    if (pid > 0)
        return await(file);
    if (!is_child) {
        setsid();
        if (fork() != 0)
            _exit(0);
        if (chdir("/") < 0)
            _exit(1);
        for (fd = 0; fd <= 2; fd++)
            close(fd);
    }
    execle("/proc/self/exe", is_hidden ? OTHER_NAME : "escape", "stay", tag, file, (char *)NULL,
           is_hidden ? nothing : environ);
    _exit(127);
}

static int storm(const char *file)
{
    int i;

    for (i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    for (i = 0; i < CHAINS; i++) {
        if (fork() != 0)
            continue;
        setsid();
        for (;;) /* one that cannot fork tries again */
            if (!is_crowded() && fork() > 0)
                _exit(0);
    }
    return stay(file);
}

/* The dead count until their parent, on a busy machine, has come to them. */
static int is_crowded(void)
{
    FILE *file = fopen("/proc/loadavg", "re");
    int   all = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*s %*s %*s %*d/%d", &all) != 1)
        all = 0;
    fclose(file);
    return all > CROWD;
}

static int stay(const char *file)
{
    int number, fd;

    for (number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, OTHER_NAME);
    fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return 1;
    close(fd);
    for (;;)
        pause();
}

static int await(const char *file)
{
    const struct timespec moment = { .tv_nsec = 5000000 };
    int                   tries = 2000;

    while (access(file, F_OK) < 0 && --tries > 0)
        nanosleep(&moment, NULL);
    return tries > 0 ? 0 : 1;
}
