/* checkup.c - see checkup.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "exit_code.h"
#include "fd.h"
#include "frame.h"
#include "node/test_switch.h"

#define LOOK_MAX_MS 10 /* between two looks whether a check has exited */
#define NS_PER_MS   1000000
#define ROUND_LAST  2

/* Round 0 is about this node, round 1 about the connections to the others, each later round
 * about the speed to one of them. */
static const struct {
    const char    *name;
    checkup_check *check;
    int            round;
    bool           only_full;
    const char    *breaks; /* problem if it hangs or crashes */
} checks[] = {
    { "names", names_check, 0, false, "each lookup of a name waits" },
    { "disks", disks_check, 0, false, "programs hang when they touch that file system" },
    { "files", files_check, 0, false, "programs hang when they touch that file system" },
    { "limits", login_limits_check, 0, false, "" },
    { "machine", machine_check, 0, false, "" },
    { "updates", updates_check, 0, false, "" },
    { "sshd", sshd_check, 0, false, "" },
    { "interfaces", interfaces_check, 0, false, "" },
    { "leftovers", leftovers_check, 0, false, "" },
    { "gpu holders", holders_check, 0, false, "" },
    { "gpu driver", driver_check, 0, false, "" },
    { "gpu", nvml_check, 0, false, "CUDA programs hang at their start" },
    { "cuda", cuda_check, 0, false, "CUDA programs hang at their start" },
    { "gpu errors", gpu_errors_check, 0, false, "" },
    { "kernel log", kernel_log_check, 0, false, "" },
    { "spot", spot_check, 0, false, "" },
    { "python", python_check, 0, false, "ranks hang at their start" },
    { "cold disk", cold_check, 0, true, "programs hang when they read their data" },
    { "peers", peers_check, 1, false, "" },
    { "speed", speed_check, 2, true, "" },
};
#define CHECKS (sizeof checks / sizeof *checks)

static bool is_skipped(const json_t *request, const char *name);
static void run_apart(struct checkup *checkup, size_t which);
static bool await(pid_t pid, double limit_s, int *status);

int checkup_run(const json_t *request, struct task_output *out)
{
    const char    *root = test_switch(TEST_SWITCH_ROOT);
    struct checkup checkup = { .request = request,
                               .out = out,
                               .root = root != NULL ? root : "",
                               .is_full = json_is_true(json_object_get(request, "full")) };
    json_int_t     id = json_integer_value(json_object_get(request, "id"));
    size_t         i;

    for (i = 0; i < CHECKS; i++)
        if (checks[i].round == (id < ROUND_LAST ? id : ROUND_LAST) &&
            (checkup.is_full || !checks[i].only_full) && !is_skipped(request, checks[i].name))
            run_apart(&checkup, i);
    return 0;
}

/* Does another node answer that for the machine? */
static bool is_skipped(const json_t *request, const char *name)
{
    const json_t *skipped = json_object_get(request, "skip"), *item;
    size_t        i;

    json_array_foreach(skipped, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), name) == 0)
            return true;
    return false;
}

static void run_apart(struct checkup *checkup, size_t which)
{
    double  limit_s = checkup->is_full ? CHECKUP_FULL_S : CHECKUP_CHECK_S;
    pid_t   self = getpid(), pid = fork();
    int64_t begun_ns = clock_now_ns();
    int     status = 0;

    checkup->check = checks[which].name;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == self)
            checks[which].check(checkup);
        _exit(0);
    }
    if (pid < 0)
        checkup_find(checkup, CHECKUP_FAIL, "no program can be started here",
                     "end some processes", "cannot fork a process");
    else if (!await(pid, limit_s, &status))
        checkup_find(checkup, CHECKUP_FAIL, checks[which].breaks,
                     "check for a dead file server (mount), and dmesg",
                     "this check was not finished after %g s", limit_s);
    else if (WIFSIGNALED(status))
        checkup_find(checkup, CHECKUP_WARN, "this was not checked", "look at dmesg",
                     "this check was killed by %s", signal_name(WTERMSIG(status)).text);
    else
        task_output_line(checkup->out, json_pack("{s:s, s:f}", "checked", checkup->check, "ms",
                                                 (double)(clock_now_ns() - begun_ns) / 1e6));
}

/* False: the child did not exit in time; it is killed then, but may be stuck. Without
 * pidfd_open() the descriptor is -1, which poll() ignores: then this looks repeatedly. */
static bool await(pid_t pid, double limit_s, int *status)
{
    int64_t       late_ns = clock_now_ns() + (int64_t)(limit_s * NS_PER_S), left_ns;
    struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    int           look_ms = 1;
    bool          has_ended;

    while (!(has_ended = waitpid(pid, status, WNOHANG) != 0) &&
           (left_ns = late_ns - clock_now_ns()) > 0) {
        poll(&ended, 1, ended.fd < 0 ? look_ms : (int)(left_ns / NS_PER_MS) + 1);
        look_ms += look_ms < LOOK_MAX_MS;
    }
    if (!has_ended)
        kill(pid, SIGKILL);
    if (ended.fd >= 0)
        close(ended.fd);
    return has_ended;
}

void checkup_fact(const struct checkup *checkup, const char *name, json_t *value)
{
    task_output_line(checkup->out, json_pack("{s:s, s:o}", "fact", name, "value", value));
}

void checkup_find(const struct checkup *checkup, enum checkup_level level, const char *breaks,
                  const char *mend, const char *format, ...)
{
    struct error value;
    va_list      ap;

    va_start(ap, format);
    vsnprintf(value.text, sizeof value.text, format, ap);
    va_end(ap);
    task_output_line(checkup->out,
                     json_pack("{s:s, s:s, s:o, s:o, s:o}", "level",
                               level == CHECKUP_FAIL ? "fail" : "warn", "check", checkup->check,
                               "value", json_text(value.text, strlen(value.text)), "breaks",
                               json_text(breaks, strlen(breaks)), "mend",
                               json_text(mend, strlen(mend))));
}

ssize_t checkup_read(const struct checkup *checkup, const char *path, char *text, size_t size)
{
    char full[PATH_MAX];

    checkup_path(checkup, path, full);
    return fd_read_file(full, text, size);
}

void checkup_path(const struct checkup *checkup, const char *path, char full[PATH_MAX])
{
    snprintf(full, PATH_MAX, "%s%s", checkup->root, path);
}

const char *checkup_word(const struct checkup *checkup, const char *key)
{
    return json_string_value(json_object_get(checkup->request, key));
}

long long checkup_number_in(const char *text, const char *name)
{
    size_t      size = strlen(name);
    const char *at = text;

    while (at != NULL && *at != '\0') {
        if (strncasecmp(at, name, size) == 0 && (at[size] == ':' || at[size] == ' '))
            return strtoll(at + size + 1, NULL, 10);
        at = strchr(at, '\n');
        at += at != NULL;
    }
    return -1;
}
