/* start_shell.c - see start_shell.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cleanup/start_shell.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"
#include "frame.h"
#include "node/process.h"

#define OPENING_MAX 160 /* bytes: a nonce, a SHA-256, a size and a word */
#define HASH_CHARS  64

static bool    has_command(pid_t pid);
static ssize_t peek(int fd, char *bytes, size_t size);
static bool    skip_hex(const char **at, const char *end, size_t count);
static bool    is_hex(char c);
static bool    skip_blank(const char **at, const char *end);

/* The session outlives its leader, if that is killed. */
bool start_shell_has(pid_t pid)
{
    pid_t          leader = getsid(pid);
    struct process shell;

    if (leader <= 1)
        return false;
    if (!process_read(leader, &shell) && !process_read(pid, &shell))
        return false;
    return shell.parent <= 1 && (has_command(shell.pid) || start_shell_input(shell.pid));
}

static bool has_command(pid_t pid)
{
    static const char command[] = "read n h s r; own() {";
    char              path[64], line[4096];
    ssize_t           size;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    size = fd_read_file(path, line, sizeof line);
    return size > 0 && memmem(line, (size_t)size, command, strlen(command)) != NULL;
}

bool start_shell_input(pid_t pid)
{
    char    bytes[OPENING_MAX];
    int     process = (int)syscall(SYS_pidfd_open, pid, 0), input = -1;
    ssize_t size = -1;

    if (process >= 0)
        input = (int)syscall(SYS_pidfd_getfd, process, STDIN_FILENO, 0);
    if (input >= 0)
        size = peek(input, bytes, sizeof bytes);
    if (input >= 0)
        close(input);
    if (process >= 0)
        close(process);
    return size > 0 && start_shell_opening(bytes, (size_t)size);
}

/* OpenSSH gives a command a socket, Dropbear a pipe. */
static ssize_t peek(int fd, char *bytes, size_t size)
{
    int     copy[2];
    ssize_t count = recv(fd, bytes, size, MSG_PEEK | MSG_DONTWAIT);

    if (count >= 0 || pipe2(copy, O_CLOEXEC | O_NONBLOCK) < 0)
        return count;
    count = tee(fd, copy[1], size, SPLICE_F_NONBLOCK);
    if (count > 0)
        count = read(copy[0], bytes, (size_t)count);
    close(copy[0]);
    close(copy[1]);
    return count;
}

bool start_shell_opening(const char *bytes, size_t size)
{
    static const char *const ends[] = { "\n", " again\n", " elsewhere\n" };
    const char              *at = bytes, *end = bytes + size, *digits;
    size_t                   i;

    if (!skip_hex(&at, end, FRAME_NONCE_CHARS) || !skip_blank(&at, end) ||
        !skip_hex(&at, end, HASH_CHARS) || !skip_blank(&at, end))
        return false;
    for (digits = at; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    for (i = 0; at > digits && i < sizeof ends / sizeof ends[0]; i++)
        if ((size_t)(end - at) >= strlen(ends[i]) && memcmp(at, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

static bool skip_hex(const char **at, const char *end, size_t count)
{
    for (; count > 0 && *at < end && is_hex(**at); count--)
        ++*at;
    return count == 0;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool skip_blank(const char **at, const char *end)
{
    return *at < end && *(*at)++ == ' ';
}
