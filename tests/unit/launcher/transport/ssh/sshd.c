/* sshd.c - see sshd.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "sshd.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xalloc.h"

#define SSHD "PATH=$PATH:/usr/sbin:/sbin; "

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof address;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        address.sin_port = 0;
    close(fd);
    return ntohs(address.sin_port);
}

static bool is_listening(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool               is = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;

    close(fd);
    return is;
}

int sshd_shell(const char *format, ...)
{
    va_list ap;
    char   *line;
    pid_t   pid;
    int     status = -1;

    va_start(ap, format);
    if (vasprintf(&line, format, ap) < 0)
        xalloc_die();
    va_end(ap);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    free(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool sshd_is_there(void)
{
    if (sshd_shell(SSHD "command -v sshd >/dev/null && command -v ssh-keygen >/dev/null") == 0)
        return true;
    printf("# SKIPPED: sshd or ssh-keygen is missing (Debian: apt-get install openssh-server)\n");
    return false;
}

void sshd_file(const struct sshd *sshd, const char *name, int mode, const char *format, ...)
{
    char   *path = xasprintf("%s/%s", sshd->dir, name);
    FILE   *file;
    va_list ap;

    unlink(path);
    file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
        abort();
    }
    va_start(ap, format);
    vfprintf(file, format, ap);
    va_end(ap);
    fclose(file);
    chmod(path, (mode_t)mode);
    free(path);
}

void sshd_client_config(const struct sshd *sshd, const char *lines)
{
    const struct passwd *me = getpwuid(getuid());

    sshd_file(sshd, "ssh_config", 0600,
              "%s\nHost node\n HostName 127.0.0.1\nHost *\n Port %d\n User %s\n"
              " IdentityFile %s/id\n IdentityAgent none\n UserKnownHostsFile %s/known_hosts\n"
              " GlobalKnownHostsFile none\n",
              lines, sshd->port, me != NULL ? me->pw_name : "root", sshd->dir, sshd->dir);
}

/* A locked password ('!') is refused without PAM, as root's is on some images. */
static void write_files(const struct sshd *sshd, const char *extra)
{
    const char          *place = strstr(extra, "%s");
    char                *lines = place == NULL ? xstrdup(extra)
                                               : xasprintf("%.*s%s%s", (int)(place - extra), extra,
                                                           sshd->dir, place + 2);
    const struct passwd *me = getpwuid(getuid());
    bool                 is_locked = me != NULL &&
        sshd_shell("getent shadow %s 2>/dev/null | grep -q '^[^:]*:!'", me->pw_name) == 0;

    sshd_file(sshd, "sshd_config", 0600,
              "%s\nListenAddress 127.0.0.1\nPort %d\nHostKey %s/host_key\nPidFile none\n"
              "AuthorizedKeysFile %s/id.pub\nStrictModes no\nUsePAM %s\nUseDNS no\n"
              "PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 1000\n"
              "KbdInteractiveAuthentication no\nPrintMotd no\nSetEnv HOME=%s/home\n",
              lines, sshd->port, sshd->dir, sshd->dir, is_locked ? "yes" : "no", sshd->dir);
    free(lines);
    /* OpenSSH 9.8 and newer shut out whoever fails to log in, as these tests do on purpose. */
    sshd_shell("cd %s && { cat sshd_config; echo PerSourcePenalties no; } >with_penalties && "
               SSHD "if sshd -t -f with_penalties 2>/dev/null; then "
               "cat with_penalties >sshd_config; fi", sshd->dir);
    sshd_shell("cd %s && printf '[127.0.0.1]:%d ' >known_hosts && "
               "cut -d' ' -f1,2 host_key.pub >>known_hosts",
               sshd->dir, sshd->port);
    sshd_client_config(sshd, "");
}

/* True when it listens, false when it has given up or takes 10 seconds. */
static bool await(struct sshd *sshd)
{
    int i;

    for (i = 0; i < 1000; i++) {
        if (waitpid(sshd->pid, NULL, WNOHANG) == sshd->pid)
            return false;
        if (is_listening(sshd->port))
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}

bool sshd_start(struct sshd *sshd, const char *extra)
{
    char *line;
    int   tries;

    *sshd = (struct sshd){ .dir = "/tmp/muster-test-XXXXXX" };
    if (mkdtemp(sshd->dir) == NULL)
        return false;
    if (getuid() == 0)
        mkdir("/run/sshd", 0755);
    sshd_shell("cd %s && mkdir home && ssh-keygen -q -t ed25519 -N '' -f host_key && "
               "ssh-keygen -q -t ed25519 -N '' -f id", sshd->dir);
    for (tries = 0; tries < 5; tries++) {
        sshd->port = free_port();
        write_files(sshd, extra);
        line = xasprintf(SSHD "exec $(command -v sshd) -D -f %s/sshd_config -E %s/sshd.log "
                              ">/dev/null 2>&1",
                         sshd->dir, sshd->dir);
        sshd->pid = fork();
        if (sshd->pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* also when a test aborts */
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
            _exit(127);
        }
        free(line);
        if (await(sshd))
            return true;
        kill(sshd->pid, SIGKILL);
    }
    sshd_shell("cat %s/sshd.log >&2", sshd->dir);
    return false;
}

bool sshd_knows(const struct sshd *sshd, const char *option)
{
    return sshd_shell(SSHD "$(command -v sshd) -T -f %s/sshd_config 2>/dev/null | grep -qx '%s'",
                      sshd->dir, option) == 0;
}

void sshd_stop(struct sshd *sshd)
{
    if (sshd->pid > 0) {
        kill(sshd->pid, SIGTERM);
        waitpid(sshd->pid, NULL, 0);
    }
    sshd_shell("rm -rf %s", sshd->dir);
}
