/* leave.c - see leave.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "init/leave.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "err.h"
#include "exit_code.h"
#include "file.h"
#include "xalloc.h"

#define HOSTFILE_MAX (1 << 20)
#define SSH_CONFIG "/etc/muster/hosts/ssh_config"
#define TELL_S "60"

static bool has_line(const char *text, const char *line, size_t length);
static void tell(const char *hosts);

void leave_step(struct leave *leave)
{
    struct error harmless; /* the file may be missing while it is replaced */
    size_t       size;
    char        *now = file_read(leave->path, HOSTFILE_MAX, &size, &harmless), *gone;

    if (now == NULL)
        return;
    if (leave->text != NULL && strcmp(leave->text, now) != 0) {
        gone = leave_gone(leave->text, now);
        if (gone[0] != '\0')
            tell(gone);
        free(gone);
    }
    free(leave->text);
    leave->text = now;
}

void leave_clear(struct leave *leave)
{
    free(leave->text);
    leave->text = NULL;
}

char *leave_gone(const char *before, const char *now)
{
    struct buffer gone = { 0 };
    size_t        length, name;

    for (; *before != '\0'; before += length + (before[length] == '\n')) {
        length = strcspn(before, "\n");
        name = strcspn(before, " \t#\n");
        if (name == 0 || has_line(now, before, name))
            continue;
        if (gone.size > 0)
            buffer_add(&gone, ",", 1);
        buffer_add(&gone, before, name);
    }
    buffer_add(&gone, "", 1);
    return gone.bytes;
}

/* Does text have a line that begins with this host name? */
static bool has_line(const char *text, const char *line, size_t length)
{
    size_t whole;

    for (; *text != '\0'; text += whole + (text[whole] == '\n')) {
        whole = strcspn(text, "\n");
        if (strncmp(text, line, length) == 0 && strchr(" \t#\n", text[length]) != NULL)
            return true;
    }
    return false;
}

static void tell(const char *hosts)
{
    sigset_t none;
    pid_t    pid = fork();

    if (pid != 0)
        return;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execlp("muster", "muster", "exec", "-H", hosts, "--ssh-config=" SSH_CONFIG,
           "--timeout=" TELL_S, "--", "muster-init", "--leave", (char *)NULL);
    _exit(EXIT_NOT_FOUND);
}
