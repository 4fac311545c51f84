/* process_about.c - describes one process to users
 *
 * The agent is static, so it reads /etc/passwd instead of using NSS (getpwuid). A user that
 * only a directory server knows is shown by number.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "node/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "frame.h"

#define COMMAND_MAX 200

static bool next_user(FILE *passwd, char *line, size_t size, uid_t *uid);
static void command_of(pid_t pid, char *text, size_t size);

json_t *process_about(const struct process *process)
{
    char            user[64], command[COMMAND_MAX];
    struct timespec now;
    uid_t           uid;

    if (!process_uid(process->pid, &uid))
        return NULL;
    user_name(uid, user, sizeof user);
    command_of(process->pid, command, sizeof command);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return json_pack("{s:i, s:I, s:o, s:I, s:o}", "pid", (int)process->pid, "uid", (json_int_t)uid,
                     "user", json_text(user, strlen(user)), "age_s",
                     (json_int_t)(now.tv_sec - (time_t)(process->start /
                                                        (uint64_t)sysconf(_SC_CLK_TCK))),
                     "command", json_text(command, strlen(command)));
}

uint64_t process_ticks_ago(double seconds)
{
    struct timespec now;
    double          up_s;

    clock_gettime(CLOCK_BOOTTIME, &now);
    up_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    return up_s > seconds ? (uint64_t)((up_s - seconds) * (double)sysconf(_SC_CLK_TCK)) : 0;
}

bool process_uid(pid_t pid, uid_t *uid)
{
    char  path[64], status[2048], *line;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    fd_read_file(path, status, sizeof status);
    line = strstr(status, "\nUid:");
    if (line == NULL)
        return false;
    *uid = (uid_t)strtoul(line + 5, NULL, 10);
    return true;
}

void user_name(uid_t uid, char *name, size_t size)
{
    FILE *passwd = fopen("/etc/passwd", "re");
    char  line[512];
    uid_t its;

    snprintf(name, size, "uid %u", (unsigned)uid);
    while (passwd != NULL && next_user(passwd, line, sizeof line, &its))
        if (its == uid) {
            snprintf(name, size, "%s", line);
            break;
        }
    if (passwd != NULL)
        fclose(passwd);
}

bool user_find(const char *name, uid_t *uid)
{
    FILE    *passwd = fopen("/etc/passwd", "re");
    char     line[512];
    unsigned number;
    bool     found = sscanf(name, "uid %u", &number) == 1;

    if (found)
        *uid = number;
    while (passwd != NULL && !found && next_user(passwd, line, sizeof line, uid))
        found = strcmp(line, name) == 0;
    if (passwd != NULL)
        fclose(passwd);
    return found;
}

/* Reads the next line that has a user, and leaves only the name in it. */
static bool next_user(FILE *passwd, char *line, size_t size, uid_t *uid)
{
    char *id;

    while (fgets(line, (int)size, passwd) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        id = strchr(line, ':');
        id = id != NULL ? strchr(id + 1, ':') : NULL;
        if (id == NULL || !isdigit((unsigned char)id[1]))
            continue;
        *uid = (uid_t)strtoul(id + 1, NULL, 10);
        line[strcspn(line, ":")] = '\0';
        return true;
    }
    return false;
}

uid_t user_login(void)
{
    const char *caller = getuid() == 0 ? getenv("SUDO_UID") : NULL;

    return caller != NULL ? (uid_t)strtoul(caller, NULL, 10) : getuid();
}

/* Writes the arguments, separated by blanks; the name of a kernel thread or a zombie. */
static void command_of(pid_t pid, char *text, size_t size)
{
    char    path[64];
    ssize_t got, i;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    got = fd_read_file(path, text, size);
    for (i = 0; i < got - 1; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    if (got > 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    fd_read_file(path, text, size);
    text[strcspn(text, "\n")] = '\0';
}
