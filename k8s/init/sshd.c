/* sshd.c - see sshd.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "init/sshd.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "file.h"
#include "log.h"
#include "xalloc.h"

#define KEY_MAX 8192
#define SSHD    "/usr/sbin/sshd" /* re-executes itself per connection, so use the full path */

static int  write_config(const char *path, const char *run, const char *secrets, int port,
                         struct error *err);
static int  copy_key(const char *from, const char *to, struct error *err);
static int  write_private(const char *path, const char *bytes, size_t size, struct error *err);
static bool is_session_own(const char *entry);

pid_t sshd_start(const char *run, const char *secrets, int port, struct error *err)
{
    char *config = xasprintf("%s/sshd_config", run), *from = xasprintf("%s/host_key", secrets);
    char *key = xasprintf("%s/host_key", run);
    pid_t pid = -1;

    if (copy_key(from, key, err) < 0 || write_config(config, run, secrets, port, err) < 0)
        goto out;
    if (getuid() == 0)
        mkdir("/run/sshd", 0755); /* for privilege separation */
    pid = fork();
    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl(SSHD, SSHD, "-D", "-e", "-f", config, (char *)NULL);
        log_error(SSHD ": %s", strerror(errno));
        _exit(127);
    }
    if (pid < 0)
        err_set(err, "fork: %s", strerror(errno));
out:
    free(config);
    free(from);
    free(key);
    return pid;
}

void sshd_environment(struct buffer *config, char *const *env, struct strlist *left_out)
{
    const char *from;
    bool        is_first = true;

    for (; *env != NULL; env++) {
        if (strchr(*env, '=') == NULL || is_session_own(*env))
            continue;
        if (strchr(*env, '\n') != NULL) {
            strlist_add_bytes(left_out, *env, strcspn(*env, "="));
            continue;
        }
        buffer_add_text(config, is_first ? "SetEnv \"" : " \"");
        is_first = false;
        for (from = *env; *from != '\0'; from++) {
            if (*from == '"' || *from == '\\')
                buffer_add(config, "\\", 1);
            buffer_add(config, from, 1);
        }
        buffer_add(config, "\"", 1);
    }
    if (!is_first)
        buffer_add(config, "\n", 1);
}

/* StrictModes no: the directory of the keys belongs to the volume's group, which StrictModes
 * refuses; all files in it are this Pod's own. LogLevel FATAL: else each readiness probe, a
 * connection that closes at once, would log an error. */
static int write_config(const char *path, const char *run, const char *secrets, int port,
                        struct error *err)
{
    const struct passwd *user = getpwuid(getuid());
    struct buffer        config = { 0 };
    struct strlist       left_out = { 0 };
    char                *text;
    size_t               i;
    int                  rc;

    if (user == NULL)
        return err_set(err,
                       "uid %d is not in /etc/passwd of this image, so sshd accepts no login; "
                       "see contrib/kubernetes/Dockerfile",
                       (int)getuid());
    text = xasprintf("Port %d\nHostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\n"
                     "AllowUsers %s\nPidFile none\nUsePAM no\nStrictModes no\n"
                     "AuthenticationMethods publickey\nPasswordAuthentication no\n"
                     "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
                     "MaxStartups 200\nMaxSessions 1024\nLoginGraceTime 20\n"
                     "ClientAliveInterval 15\nClientAliveCountMax 4\nUseDNS no\n"
                     "X11Forwarding no\nAllowTcpForwarding no\nAllowAgentForwarding no\n"
                     "PermitUserEnvironment no\nPrintMotd no\nLogLevel FATAL\n",
                     port, run, secrets, user->pw_name);
    buffer_add_text(&config, text);
    sshd_environment(&config, environ, &left_out);
    for (i = 0; i < left_out.count; i++)
        log_warn("%s: its value has more than one line; ranks will not have this variable",
                 left_out.item[i]);
    rc = write_private(path, config.bytes, config.size, err);
    explicit_bzero(config.bytes, config.size); /* may contain values of Secrets */
    buffer_clear(&config);
    strlist_clear(&left_out);
    free(text);
    return rc;
}

/* sshd refuses a key of its own user that the group can read, like the one in the volume. */
static int copy_key(const char *from, const char *to, struct error *err)
{
    size_t size;
    char  *bytes = file_read_at_once(from, KEY_MAX, &size, err);
    int    rc;

    if (bytes == NULL)
        return -1;
    rc = write_private(to, bytes, size, err);
    explicit_bzero(bytes, size);
    free(bytes);
    return rc;
}

static int write_private(const char *path, const char *bytes, size_t size, struct error *err)
{
    int  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && fd_write_all(fd, bytes, size) == size;

    if (fd >= 0)
        close(fd);
    return is_written ? 0 : err_set(err, "%s: %s", path, strerror(errno));
}

/* Does the variable belong to a session or a process, not to the container? */
static bool is_session_own(const char *entry)
{
    static const char *const names[] = { "HOME", "HOSTNAME", "LOGNAME", "OLDPWD", "PWD", "SHELL",
                                         "SHLVL", "TERM", "USER", "_" };
    size_t length = strcspn(entry, "="), i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], entry, length) == 0)
            return true;
    return false;
}
