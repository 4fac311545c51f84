/* journalctl.c - see journalctl.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/journalctl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "node/own_limits.h"
#include "node/test_switch.h"
#include "strlist.h"
#include "xalloc.h"

#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define PART 8192          /* bytes of a read */
#define FULL (32u << 10)   /* of a pipe from which a program writes more while we read */
#define LAST "--lines=100" /* of these: what comes before journalctl follows; and it may read */
#define END_LOOKS 1000     /* of a millisecond each, for KILL */
#define END_LOOK_NS 1000000

static const char *find_program(void);
static int         find_journal(const char *directory, struct error *err);
static void        read_boot(char boot[JOURNAL_BOOT_SIZE]);
static void        make_argv(struct strlist *argv, const char *program, const char *directory,
                             const char *boot, bool follows);
static int         start(struct journalctl *journalctl, char *const *argv, struct error *err);
static void        become(char *const *argv, int null, int out, int err, pid_t parent)
    __attribute__((noreturn));
static size_t read_entries(struct journalctl *journalctl, size_t most, kernel_log_f *take,
                           void *arg);
static void   keep(struct journalctl *journalctl, const char *bytes, size_t size);
static void   end_entry(struct journalctl *journalctl, kernel_log_f *take, void *arg);
static void   read_words(struct journalctl *journalctl);
static void   add_word(struct journalctl *journalctl, char byte);
static void   reap(struct journalctl *journalctl);
static void   drop(int *fd);

int journalctl_open(struct journalctl *journalctl, const char *directory, bool follows,
                    int64_t since_us, struct error *err)
{
    const char    *program = find_program();
    struct strlist argv = { 0 };
    int            rc;

    *journalctl = (struct journalctl){ .out = -1, .err = -1, .since_us = since_us };
    if (program == NULL)
        return err_set(err, "there is no journalctl in /usr/bin and /bin");
    if (find_journal(directory, err) < 0)
        return -1;
    read_boot(journalctl->boot);
    make_argv(&argv, program, directory, journalctl->boot, follows);
    rc = start(journalctl, argv.item, err);
    strlist_clear(&argv);
    return rc;
}

/* Not along the user's PATH: that may have a program of any kind with this name. */
static const char *find_program(void)
{
    static const char *const places[] = { "/usr/bin/journalctl", "/bin/journalctl" };
    const char              *other = test_switch(TEST_SWITCH_JOURNALCTL);
    size_t                   i;

    if (other != NULL)
        return access(other, X_OK) == 0 ? other : NULL;
    for (i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* Spares a container without journald a program that only waits. */
static int find_journal(const char *directory, struct error *err)
{
    if (directory != NULL || access("/run/log/journal", F_OK) == 0 ||
        access("/var/log/journal", F_OK) == 0)
        return 0;
    return err_set(err, "there is no journal in /run/log/journal and /var/log/journal");
}

/* The file has the id with hyphens. */
static void read_boot(char boot[JOURNAL_BOOT_SIZE])
{
    char   text[64];
    size_t i, size = 0;

    fd_read_file(BOOT_FILE, text, sizeof text);
    for (i = 0; text[i] != '\0' && size < JOURNAL_BOOT_SIZE - 1; i++)
        if (isxdigit((unsigned char)text[i]))
            boot[size++] = text[i];
    boot[size] = '\0';
}

static void make_argv(struct strlist *argv, const char *program, const char *directory,
                      const char *boot, bool follows)
{
    strlist_add(argv, program);
    strlist_add(argv, "--no-pager");
    strlist_add(argv, "--output=json");
    strlist_add(argv, "--output-fields=MESSAGE,SYSLOG_FACILITY,_TRANSPORT");
    if (directory != NULL)
        strlist_addf(argv, "--directory=%s", directory);
    strlist_add(argv, follows ? "--follow" : "--since=-24h");
    if (follows)
        strlist_add(argv, LAST);
    strlist_addf(argv, "_BOOT_ID=%s", boot);
    strlist_add(argv, "_TRANSPORT=kernel");
    strlist_add(argv, "SYSLOG_FACILITY=0");
}

static int start(struct journalctl *journalctl, char *const *argv, struct error *err)
{
    int   out[2] = { -1, -1 }, words[2] = { -1, -1 };
    int   null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t self = getpid();

    journalctl->pid = -1;
    if (null >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(words, O_CLOEXEC) == 0)
        journalctl->pid = fork();
    if (journalctl->pid == 0)
        become(argv, null, out[1], words[1], self);
    if (journalctl->pid < 0) {
        err_set(err, "%s cannot be started: %s", argv[0], strerror(errno));
        drop(&out[0]);
        drop(&words[0]);
    }
    drop(&null);
    drop(&out[1]);
    drop(&words[1]);
    if (journalctl->pid < 0) {
        journalctl->pid = 0;
        return -1;
    }
    journalctl->out = out[0];
    journalctl->err = words[0];
    fd_set_nonblock(journalctl->out);
    fd_set_nonblock(journalctl->err);
    journalctl->line = xmalloc(JOURNALCTL_LINE_MAX);
    return 0;
}

/* We may have threads: the child calls only what takes no lock. */
static void become(char *const *argv, int null, int out, int err, pid_t parent)
{
    static char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C";
    char       *env[] = { path, locale, NULL };
    sigset_t    none;
    int         i;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    for (i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    own_limits_undo();
    execve(argv[0], argv, env);
    _exit(EXIT_FAILURE);
}

bool journalctl_read(struct journalctl *journalctl, size_t most, kernel_log_f *take, void *arg)
{
    size_t taken = read_entries(journalctl, most, take, arg);

    read_words(journalctl);
    if (journalctl->out < 0 && journalctl->pid > 0)
        reap(journalctl);
    return taken >= most || taken >= FULL;
}

static size_t read_entries(struct journalctl *journalctl, size_t most, kernel_log_f *take,
                           void *arg)
{
    char    part[PART];
    size_t  taken = 0;
    ssize_t got;

    while (journalctl->out >= 0 && taken < most) {
        got = read(journalctl->out, part, sizeof part);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0)
            drop(&journalctl->out);
        else
            journalctl_feed(journalctl, part, (size_t)got, take, arg);
        taken += got > 0 ? (size_t)got : 0;
    }
    return taken;
}

void journalctl_feed(struct journalctl *journalctl, const char *bytes, size_t size,
                     kernel_log_f *take, void *arg)
{
    const char *end;

    while ((end = memchr(bytes, '\n', size)) != NULL) {
        keep(journalctl, bytes, (size_t)(end - bytes));
        end_entry(journalctl, take, arg);
        size -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
    keep(journalctl, bytes, size);
}

static void keep(struct journalctl *journalctl, const char *bytes, size_t size)
{
    if (size > JOURNALCTL_LINE_MAX - journalctl->size)
        journalctl->is_long = true;
    if (journalctl->is_long)
        return;
    memcpy(journalctl->line + journalctl->size, bytes, size);
    journalctl->size += size;
}

static void end_entry(struct journalctl *journalctl, kernel_log_f *take, void *arg)
{
    struct kernel_message message;
    char                  text[KERNEL_LINE_MAX + 1];
    bool is_message = !journalctl->is_long &&
                      journal_entry_read(journalctl->line, journalctl->size, journalctl->boot,
                                         text, &message);

    journalctl->size = 0;
    journalctl->is_long = false;
    if (!is_message)
        return;
    journalctl->shown++;
    if (message.at_us < journalctl->since_us)
        return;
    journalctl->last_us = message.at_us;
    take(&message, arg);
}

/* What is more than fits is dropped, so that journalctl does not wait for us. */
static void read_words(struct journalctl *journalctl)
{
    char    part[PART];
    ssize_t got, i;

    if (journalctl->err < 0)
        return;
    got = read(journalctl->err, part, sizeof part);
    for (i = 0; i < got; i++)
        add_word(journalctl, part[i]);
    if (got == 0)
        drop(&journalctl->err);
}

/* A blank for each run of blanks and line breaks. */
static void add_word(struct journalctl *journalctl, char byte)
{
    size_t *size = &journalctl->word_size;

    if (isspace((unsigned char)byte) || byte == '\0')
        byte = ' ';
    if (*size == JOURNALCTL_WORDS_MAX ||
        (byte == ' ' && (*size == 0 || journalctl->words[*size - 1] == ' ')))
        return;
    journalctl->words[(*size)++] = byte;
}

bool journalctl_is_over(const struct journalctl *journalctl)
{
    return journalctl->pid == 0;
}

/* Where it has closed its output it has ended, or it is of no use. */
static void reap(struct journalctl *journalctl)
{
    kill(journalctl->pid, SIGKILL);
    if (waitpid(journalctl->pid, &journalctl->status, WNOHANG) != 0)
        journalctl->pid = 0;
}

/* One that is stuck in the kernel is left to init. */
void journalctl_close(struct journalctl *journalctl)
{
    const struct timespec pause = { .tv_nsec = END_LOOK_NS };
    int                   i;

    for (i = 0; i < END_LOOKS && journalctl->pid > 0; i++) {
        reap(journalctl);
        if (journalctl->pid > 0)
            nanosleep(&pause, NULL);
    }
    journalctl->pid = 0;
    drop(&journalctl->out);
    drop(&journalctl->err);
    free(journalctl->line);
    journalctl->line = NULL;
}

static void drop(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
