/* test_process.c - processes as the agent reads them in /proc, whatever they call
 * themselves
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "fd.h"
#include "guard/cgroup.h"
#include "node/open_files.h"
#include "node/process.h"

/* A child of that name, which goes on until it is killed. */
static pid_t child_start(const char *name)
{
    int   fd[2];
    char  byte;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, name);
        close(fd[0]);
        if (write(fd[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(fd[1]);
    assert_int_equal(read(fd[0], &byte, 1), 1);
    close(fd[0]);
    return pid;
}

static void child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool find(pid_t pid, struct process *found)
{
    struct processes below;
    bool             is_there = false;
    size_t           i;

    processes_below(&below, getpid());
    for (i = 0; i < below.count; i++) {
        if (below.item[i].pid != pid)
            continue;
        *found = below.item[i];
        is_there = true;
    }
    processes_clear(&below);
    return is_there;
}

static void test_any_name(void **state)
{
    static const char *const names[] = {
        "plain", ") Z 1 1 1 1 1", "a b) R 0 (", "((((", "", "\n) Z 1\nUid:\t7", "\xff\x1b[2J",
    };
    struct process found;
    json_t        *about, *short_about;
    uid_t          uid;
    size_t         i;
    pid_t          pid;

    (void)state;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        pid = child_start(names[i]);
        if (!find(pid, &found))
            fail_msg("'%s' was not found", names[i]);
        assert_int_equal(found.parent, getpid());
        assert_non_null(strchr("RS", found.state));
        assert_true(process_uid(pid, &uid) && uid == getuid());
        assert_false(process_is_dumping(pid));
        about = process_about(&found);
        short_about = process_json(pid);
        assert_int_equal(json_integer_value(json_object_get(about, "uid")), getuid());
        assert_in_range(json_integer_value(json_object_get(about, "age_s")), 0, 100);
        assert_true(json_is_string(json_object_get(about, "command")));
        assert_true(json_is_string(json_object_get(short_about, "name")));
        json_decref(about);
        json_decref(short_about);
        child_end(pid);
        assert_false(find(pid, &found));
        assert_false(process_uid(pid, &uid));
    }
}

static void test_only_the_process_that_was_listed(void **state)
{
    struct process found;
    pid_t          pid = child_start("one");
    int            status;

    (void)state;
    assert_true(find(pid, &found));
    found.start++; /* as if its number had gone to another one since */
    process_signal(&found, SIGKILL);
    found.start--;
    assert_int_equal(process_signal(&found, SIGUSR1), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGUSR1);
    assert_int_equal(process_signal(&found, SIGUSR1), 0); /* it is gone */
}

/* This process does not get that system call any more, as in a container that does not know it. */
static bool forbid(unsigned number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof code / sizeof code[0], .filter = code };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* What check says in a child without that system call. */
static bool without(unsigned number, bool (*check)(void))
{
    int   status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(!forbid(number) ? 77 : check() ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool signal_goes(void)
{
    struct process child;
    pid_t          pid = fork();
    int            status;

    if (pid == 0)
        for (;;)
            pause();
    if (!process_read(pid, &child))
        return false;
    child.start++;
    process_signal(&child, SIGKILL);
    child.start--;
    process_signal(&child, SIGUSR1);
    alarm(10);
    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
}

static void test_signal_without_pidfd(void **state)
{
    (void)state;
    assert_true(without(SYS_pidfd_open, signal_goes));
    assert_true(without(SYS_pidfd_send_signal, signal_goes));
}

/* Also one that was opened when the limit was higher. */
static bool all_is_closed(void)
{
    struct rlimit limit;
    int           far, near = dup(0);

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    far = fcntl(0, F_DUPFD, limit.rlim_cur < 100000 ? (int)limit.rlim_cur - 1 : 99999);
    limit.rlim_cur = 64;
    if (far < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    fd_close_from(3);
    return fcntl(near, F_GETFD) < 0 && fcntl(far, F_GETFD) < 0 && fcntl(2, F_GETFD) >= 0;
}

static void test_close_without_close_range(void **state)
{
    (void)state;
    assert_true(without(SYS_close_range, all_is_closed));
}

static bool has_open(pid_t pid, const char *name)
{
    struct open_files files;
    bool              found = false;

    for (open_files_begin(&files, pid); open_files_next(&files);)
        found = found || strcmp(files.name, name) == 0;
    open_files_end(&files);
    return found;
}

static void test_open_files(void **state)
{
    char  path[] = "/tmp/muster-test-XXXXXX", gone[64];
    int   fd = mkstemp(path);
    pid_t pid;

    (void)state;
    assert_true(fd >= 0);
    pid = child_start("holder");
    assert_true(has_open(pid, path));
    unlink(path);
    snprintf(gone, sizeof gone, "%s (deleted)", path);
    assert_true(has_open(pid, gone));
    assert_false(has_open(pid, path));
    child_end(pid);
    assert_false(has_open(pid, gone)); /* nor is it an error that it has gone */
    close(fd);
}

static bool is_self(pid_t pid)
{
    return pid == getpid();
}

static void test_wanted(void **state)
{
    bool             are_told = access("/proc/2/task/2/children", R_OK) == 0;
    struct processes found;
    size_t           i, threads = 0;

    (void)state;
    processes_wanted(&found, is_self);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.item[0].pid, getpid());
    processes_clear(&found);

    processes_wanted(&found, NULL);
    assert_non_null(processes_find(&found, getpid()));
    for (i = 0; i < found.count; i++)
        threads += found.item[i].parent == 2; /* kthreadd, unless this is a container */
    assert_true(!are_told || threads < 10);   /* new ones may have come */
    processes_clear(&found);
}

static void test_users(void **state)
{
    char  name[64];
    uid_t uid;

    (void)state;
    user_name(0, name, sizeof name);
    assert_string_equal(name, "root");
    user_name((uid_t)-3, name, sizeof name);
    assert_string_equal(name, "uid 4294967293");
    user_name(0, name, 3);
    assert_string_equal(name, "ro");
    assert_true(user_find("root", &uid));
    assert_int_equal(uid, 0);
    assert_true(user_find("uid 4294967293", &uid)); /* as user_name() calls it */
    assert_int_equal(uid, (uid_t)-3);
    assert_false(user_find("no-such-user", &uid));
    assert_false(user_find("", &uid));
    assert_false(user_find("root:x", &uid));
    unsetenv("SUDO_UID");
    assert_int_equal(user_login(), getuid());
    setenv("SUDO_UID", "4711", 1);
    assert_int_equal(user_login(), getuid() == 0 ? 4711 : getuid()); /* others may say anything */
    unsetenv("SUDO_UID");
}

static void make_below(const char *path, const char *name, char *below, size_t size)
{
    snprintf(below, size, "%s/%s", path, name);
    if (mkdir(below, 0755) < 0)
        skip();
}

/* Version 1 has no cgroup.kill, and what it has frozen does not die. */
static void kill_in_group_below(const char *top)
{
    struct cgroup cgroup = { 0 };
    char          name[64], below[600], procs[640], pid_text[16];
    pid_t         pid;

    snprintf(name, sizeof name, "test-%d", (int)getpid());
    make_below(top, name, cgroup.path, sizeof cgroup.path);
    make_below(cgroup.path, "below", below, sizeof below);
    assert_true(cgroup_is_empty(&cgroup));
    pid = child_start("member");
    snprintf(procs, sizeof procs, "%s/cgroup.procs", below);
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    assert_true(fd_write_file(procs, pid_text));
    snprintf(procs, sizeof procs, "%s/freezer.state", below);
    fd_write_file(procs, "FROZEN");
    assert_false(cgroup_is_empty(&cgroup));
    cgroup_kill(&cgroup);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(cgroup_is_empty(&cgroup));
    assert_true(cgroup_remove(&cgroup));
    assert_int_not_equal(access(below, F_OK), 0);
}

static void test_groups_below(void **state)
{
    static const char *const controllers[] = { "", "freezer" };
    char                     own[400];
    size_t                   i;

    (void)state;
    for (i = 0; i < 2; i++)
        if (cgroup_own(controllers[i], own, sizeof own) && access(own, W_OK) == 0)
            kill_in_group_below(own);
}

/* /proc/self/cgroup, as machines have it. */
static void test_cgroup_lines(void **state)
{
    static const struct {
        const char *text, *controller, *path; /* NULL: none */
    } cases[] = {
        { "0::/a/b\n", "", "/a/b" },
        { "0::/\n", "", "/" },
        { "0::/../../x\n", "", "/../../x" }, /* seen from within another namespace */
        { "0::/a:b/c\n", "", "/a:b/c" },
        { "0::/a", "", "/a" },
        { "0::/a\n", "memory", NULL },
        { "4:memory:/a\n0::/b\n", "memory", "/a" },
        { "4:memory:/a\n0::/b\n", "", "/b" },
        { "3:cpu,cpuacct:/c\n4:memory:/a\n", "cpuacct", "/c" },
        { "3:cpu,cpuacct:/c\n", "cpu", "/c" },
        { "3:cpu,cpuacct:/c\n", "cpuset", NULL },
        { "1:name=systemd:/s\n", "systemd", NULL },
        { "1:name=systemd:/s\n", "", NULL },
        { "", "", NULL },
        { "\n\n:\n::\nno line\n0:", "memory", NULL },
        { "7:memory\n8:memory:/a\n", "memory", "/a" },
    };
    char   text[128], *path;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        path = cgroup_path_in(text, cases[i].controller);
        if (path == NULL ? cases[i].path != NULL
                         : cases[i].path == NULL || strcmp(path, cases[i].path) != 0)
            fail_msg("'%s' in '%s' is '%s'", cases[i].controller, cases[i].text,
                     path != NULL ? path : "not there");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_name),
        cmocka_unit_test(test_only_the_process_that_was_listed),
        cmocka_unit_test(test_signal_without_pidfd),
        cmocka_unit_test(test_close_without_close_range),
        cmocka_unit_test(test_open_files),
        cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_groups_below),
        cmocka_unit_test(test_cgroup_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
