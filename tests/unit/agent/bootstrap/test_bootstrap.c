/* test_bootstrap.c - the steps of muster bootstrap over a tree: plan, apply, undo, power cuts
 *
 * The tree has what a fresh Debian node has. For the power cuts a child is killed at each of its
 * system calls in turn, by ptrace(2); the next apply has to complete what it has begun.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/bootstrap.h"
#include "buffer.h"
#include "journal/journal.h"
#include "xalloc.h"

#define LINES_MAX (1 << 20)
#define CUT_EVERY 2 /* calls that change something: 1 takes twice as long */

struct tree {
    char root[64];
};

static const char request_text[] =
    "{\"name\":\"te1\", \"user\":\"root\", \"home\":\"/root\","
    " \"hosts\":[{\"name\":\"te1\", \"addr\":\"10.0.0.1\"},"
    "            {\"name\":\"te2\", \"addr\":\"10.0.0.2\"}],"
    " \"conf\":{\"access\":{\"keys\":[\"ssh-ed25519 AAAAnew me@here\"]},"
    "           \"shell\":{\"path\":\"/data/it's/bin\", \"conda\":\"/data/conda\"},"
    "           \"limits\":{\"nofile\":\"65536\", \"shm\":\"64M\", "
    "\"sshd_max_startups\":\"256\", \"sshd_client_alive_s\":\"30\"}}}";

static const char hosts_before[] = "127.0.0.1 localhost\n"
                                   "127.0.1.1\tte1.example te1 printer # this machine\n"
                                   "::1 localhost ip6-localhost te2\n"
                                   "192.168.0.9  nas   # te1\n"
                                   "# 10.9.9.9 te2\n"
                                   "10.9.9.9 te2 backup te2.example te22\n"
                                   "10.0.0.1   te1\n";
static const char hosts_after[] = "127.0.0.1 localhost\n"
                                  "127.0.1.1 printer # this machine\n"
                                  "::1 localhost ip6-localhost\n"
                                  "192.168.0.9  nas   # te1\n"
                                  "# 10.9.9.9 te2\n"
                                  "10.9.9.9 backup te22\n"
                                  "10.0.0.1   te1\n"
                                  "# BEGIN muster: written by muster bootstrap, which replaces "
                                  "these lines\n"
                                  "10.0.0.1 te1\n"
                                  "10.0.0.2 te2\n"
                                  "# END muster\n";

/* --- the tree --------------------------------------------------------------- */

static void put(const struct tree *tree, const char *path, const char *text, mode_t mode)
{
    char *whole = xasprintf("%s%s", tree->root, path), *slash;
    FILE *file;

    for (slash = whole + strlen(tree->root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(whole, mode);
    free(whole);
}

static char *get(const struct tree *tree, const char *path)
{
    char  *whole = xasprintf("%s%s", tree->root, path), *text = xcalloc(1, LINES_MAX);
    FILE  *file = fopen(whole, "r");
    size_t got = file != NULL ? fread(text, 1, LINES_MAX - 1, file) : 0;

    (void)got;
    if (file != NULL)
        fclose(file);
    free(whole);
    return text;
}

static void expect(const struct tree *tree, const char *path, const char *text)
{
    char *have = get(tree, path);

    assert_string_equal(have, text);
    free(have);
}

static int compare(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* All of the tree but muster's own folder as one text: path, mode, bytes. */
static char *snapshot(const struct tree *tree)
{
    char         *roots[] = { (char *)tree->root, NULL }, *line, *bytes;
    FTS          *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare);
    FTSENT       *one;
    struct buffer all = { 0 };

    while ((one = fts_read(walk)) != NULL) {
        const char *path = one->fts_path + strlen(tree->root);

        if (strcmp(path, "/var") == 0)
            fts_set(walk, one, FTS_SKIP);
        if ((one->fts_info != FTS_D && one->fts_info != FTS_F) || strncmp(path, "/var", 4) == 0)
            continue;
        bytes = one->fts_info == FTS_F ? get(tree, path) : xstrdup("");
        line = xasprintf("%s %o\n%s", path, one->fts_statp->st_mode, bytes);
        buffer_add_text(&all, line);
        free(line);
        free(bytes);
    }
    fts_close(walk);
    buffer_add(&all, "", 1);
    return all.bytes;
}

static void remove_below(const char *path)
{
    char   *roots[] = { (char *)path, NULL };
    FTS    *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *one;

    while ((one = fts_read(walk)) != NULL)
        if (one->fts_info != FTS_D)
            remove(one->fts_path);
    fts_close(walk);
}

static void fill(const struct tree *tree)
{
    put(tree, "/etc/hosts", hosts_before, 0644);
    put(tree, "/etc/hostname", "ubuntu\n", 0644);
    put(tree, "/proc/sys/kernel/hostname", "ubuntu\n", 0644);
    put(tree, "/etc/fstab", "LABEL=root / ext4 defaults 0 1", 0644);
    put(tree, "/etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n", 0600);
    put(tree, "/etc/ssh/sshd_config.d/50-cloud.conf", "PasswordAuthentication yes\n", 0600);
    put(tree, "/etc/cloud/cloud.cfg.d/05.cfg", "x: y\n", 0644);
    put(tree, "/etc/cloud/templates/hosts.debian.tmpl", "127.0.1.1 {{fqdn}} {{hostname}}\n", 0644);
    put(tree, "/var/lib/cloud/instance/cloud-config.txt", "manage_etc_hosts: true\n", 0600);
    put(tree, "/root/.bashrc", "case $- in *i*) ;; *) return;; esac\n", 0644);
    put(tree, "/root/.ssh/authorized_keys", "# ssh-ed25519 AAAAnew\nssh-rsa AAAAold x", 0666);
}

static int setup(void **state)
{
    struct tree *tree = xcalloc(1, sizeof *tree);

    /* In memory, since every step syncs. */
    snprintf(tree->root, sizeof tree->root, "%s/muster-test-bootstrap.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(tree->root));
    fill(tree);
    *state = tree;
    return 0;
}

static int teardown(void **state)
{
    struct tree *tree = *state;

    remove_below(tree->root);
    free(tree);
    return 0;
}

/* --- running it ------------------------------------------------------------- */

static json_t *request_of(const char *op)
{
    json_t *request = json_loads(request_text, 0, NULL);

    assert_non_null(request);
    json_object_set_new(request, "op", json_string(op));
    return request;
}

/* The lines by step: {"hosts":{...}, ...}; those without a step under "". The caller releases. */
static json_t *run_request(const struct tree *tree, json_t *request, int *status)
{
    FILE              *file = tmpfile();
    struct task_output out = { fileno(file) };
    char               line[65536];
    json_t            *lines = json_object();

    *status = bootstrap_run(request, tree->root, &out);
    json_decref(request);
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        json_t     *one = json_loads(line, 0, NULL);
        const char *step = json_string_value(json_object_get(one, "step"));

        json_object_set_new(lines, step != NULL ? step : "", one);
    }
    fclose(file);
    return lines;
}

static json_t *run_op(const struct tree *tree, const char *op, int *status)
{
    return run_request(tree, request_of(op), status);
}

static const char *text_in(const json_t *lines, const char *step, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(lines, step), key));

    return text != NULL ? text : "";
}

static void expect_state(json_t *lines, const char *step, const char *state)
{
    if (strcmp(text_in(lines, step, "state"), state) != 0)
        print_message("# %s: %s: %s\n", step, text_in(lines, step, "state"),
                      text_in(lines, step, "error"));
    assert_string_equal(text_in(lines, step, "state"), state);
}

/* --- tests ------------------------------------------------------------------ */

static void plan_changes_nothing_and_says_what(void **state)
{
    struct tree *tree = *state;
    char        *before = snapshot(tree), *after;
    int          status;
    json_t      *lines = run_op(tree, "plan", &status);

    assert_int_equal(status, 0);
    expect_state(lines, "hosts", "change");
    expect_state(lines, "name", "change");
    expect_state(lines, "key", "change");
    expect_state(lines, "data", "unused");
    expect_state(lines, "receipt", "later");
    after = snapshot(tree);
    assert_string_equal(before, after);
    json_decref(lines);
    free(before);
    free(after);
}

static void apply_then_again_then_undo(void **state)
{
    struct tree *tree = *state;
    char        *before = snapshot(tree), *after, *text;
    const char  *step;
    json_t      *lines, *line;
    struct stat  about;
    char        *path;
    int          status;

    lines = run_op(tree, "apply", &status);
    json_object_foreach(lines, step, line)
        assert_string_not_equal(text_in(lines, step, "state"), "failed");
    assert_int_equal(status, 0);
    json_decref(lines);
    expect(tree, "/etc/hosts", hosts_after);
    expect(tree, "/etc/hostname", "te1\n");
    expect(tree, "/proc/sys/kernel/hostname", "te1\ntu\n"); /* of a value the first line counts */
    expect(tree, "/root/.ssh/authorized_keys",
           "# ssh-ed25519 AAAAnew\nssh-rsa AAAAold x\nssh-ed25519 AAAAnew me@here\n");
    path = xasprintf("%s/root/.ssh/authorized_keys", tree->root);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0644);
    free(path);
    expect(tree, "/etc/ssh/sshd_config.d/00-muster.conf",
           "# written by muster bootstrap\nMaxStartups 256\nClientAliveInterval 30\n");
    text = get(tree, "/etc/fstab");
    assert_non_null(strstr(text, "these lines\n"
                                 "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=67108864 0 0\n"
                                 "# END muster\n"));
    free(text);
    text = get(tree, "/etc/cloud/templates/hosts.debian.tmpl");
    assert_non_null(strstr(text, "10.0.0.2 te2"));
    assert_null(strstr(text, "127.0.1.1"));
    free(text);

    after = snapshot(tree);
    lines = run_op(tree, "apply", &status);
    json_object_foreach(lines, step, line)
        assert_string_not_equal(text_in(lines, step, "state"), "changed");
    json_decref(lines);
    text = snapshot(tree);
    assert_string_equal(after, text);
    free(text);
    free(after);

    lines = run_op(tree, "undo", &status);
    assert_int_equal(status, 0);
    json_decref(lines);
    after = snapshot(tree);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* sh itself reads the block: twice, and PATH has the folder once. */
static void the_profile_is_sh(void **state)
{
    struct tree *tree = *state;
    int          status;
    char        *command;

    json_decref(run_op(tree, "apply", &status));
    command = xasprintf("set -eu; cd %s/root; PATH=/bin; . ./.bashrc; . ./.bashrc; "
                        "[ \"$PATH\" = \"/data/it's/bin:/bin\" ]", tree->root);
    assert_int_equal(system(command), 0);
    free(command);
}

static void undo_leaves_what_others_have_changed(void **state)
{
    struct tree *tree = *state;
    json_t      *lines;
    int          status;

    json_decref(run_op(tree, "apply", &status));
    put(tree, "/etc/hostname", "mine\n", 0644);
    lines = run_op(tree, "undo", &status);
    assert_int_equal(status, 1);
    expect_state(lines, "name", "failed");
    expect_state(lines, "hosts", "changed");
    expect(tree, "/etc/hostname", "mine\n");
    expect(tree, "/etc/hosts", hosts_before);
    json_decref(lines);
}

static void a_step_that_fails_does_not_stop_the_others(void **state)
{
    struct tree *tree = *state;
    json_t      *lines;
    int          status;

    put(tree, "/etc/hosts", "# BEGIN muster\n10.0.0.1 te1\n", 0644);
    lines = run_op(tree, "apply", &status);
    assert_int_equal(status, 1);
    expect_state(lines, "hosts", "failed");
    assert_non_null(strstr(text_in(lines, "hosts", "error"), "/etc/hosts"));
    assert_non_null(strstr(text_in(lines, "hosts", "fix"), "by hand"));
    expect_state(lines, "limits", "changed");
    expect(tree, "/etc/hosts", "# BEGIN muster\n10.0.0.1 te1\n");
    json_decref(lines);
}

/* A second look follows each change, and would say it again. */
static void a_note_is_said_once(void **state)
{
    struct tree *tree = *state;
    json_t      *lines, *notes;
    int          status;

    put(tree, "/etc/ssh/sshd_config", "UsePAM yes\n", 0600);
    lines = run_op(tree, "apply", &status);
    expect_state(lines, "limits", "changed");
    notes = json_object_get(json_object_get(lines, "limits"), "notes");
    assert_int_equal(json_array_size(notes), 1);
    assert_non_null(strstr(json_string_value(json_array_get(notes, 0)), "does not include"));
    json_decref(lines);
}

static void only_the_chosen_steps(void **state)
{
    struct tree *tree = *state;
    json_t      *request = request_of("apply"), *lines;
    int          status;

    json_object_set_new(request, "steps", json_pack("[s]", "hosts"));
    lines = run_request(tree, request, &status);
    assert_int_equal(json_object_size(lines), 1);
    expect(tree, "/etc/hostname", "ubuntu\n");
    expect(tree, "/etc/hosts", hosts_after);
    json_decref(lines);
}

/* It keeps the address that is known here. */
static void a_node_that_does_not_answer(void **state)
{
    struct tree *tree = *state;
    json_t      *request = request_of("apply"), *lines;
    int          status;

    json_decref(run_op(tree, "apply", &status));
    json_object_del(json_array_get(json_object_get(request, "hosts"), 1), "addr");
    lines = run_request(tree, request, &status);
    expect_state(lines, "hosts", "ok");
    expect(tree, "/etc/hosts", hosts_after);
    json_decref(lines);
    json_decref(run_op(tree, "undo", &status));
    request = request_of("apply");
    json_object_del(json_array_get(json_object_get(request, "hosts"), 1), "addr");
    json_decref(run_request(tree, request, &status));
    assert_int_equal(status, 0);
}

/* A link could lead anywhere: root must not write through it. */
static void a_symbolic_link_is_refused(void **state)
{
    struct tree *tree = *state;
    char        *path = xasprintf("%s/etc/hosts", tree->root);
    json_t      *lines;
    int          status;

    unlink(path);
    assert_int_equal(symlink("hostname", path), 0);
    lines = run_op(tree, "apply", &status);
    expect_state(lines, "hosts", "failed");
    assert_non_null(strstr(text_in(lines, "hosts", "error"), "symbolic link"));
    json_decref(lines);
    free(path);
}

static void a_second_one_at_the_same_time_is_refused(void **state)
{
    struct tree   *tree = *state;
    struct journal journal;
    struct error   err;
    json_t        *lines;
    int            status;

    assert_int_equal(journal_open(&journal, tree->root, &err), 0);
    lines = run_op(tree, "apply", &status);
    assert_int_equal(status, 1);
    assert_non_null(strstr(text_in(lines, "", "error"), "another muster bootstrap"));
    json_decref(lines);
    journal_close(&journal);
}

/* --- power cuts ------------------------------------------------------------- */

/* Does the call that the child is about to make change a file? */
static bool is_change(pid_t child)
{
    static const uint64_t changes[] = {
        SYS_openat, SYS_write, SYS_fsync, SYS_fchmod, SYS_fchmodat, SYS_unlinkat, SYS_mkdirat,
#ifdef SYS_rename /* older ways of the same, which newer machines do not have */
        SYS_rename, SYS_unlink, SYS_mkdir, SYS_rmdir, SYS_chmod,
#else
        SYS_renameat, SYS_renameat2,
#endif
    };
    struct __ptrace_syscall_info info = { 0 };
    size_t                       i;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    for (i = 0; i < sizeof changes / sizeof *changes; i++)
        if (info.entry.nr == changes[i])
            return true;
    return false;
}

/* Do op in a child, killed when it wants to change something for the n-th time. True: it had ended
 * before. */
static bool run_until(const struct tree *tree, const char *op, long n)
{
    pid_t child;
    int   status;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct task_output out = { open("/dev/null", O_WRONLY) };
        json_t            *request = request_of(op);

        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(2);
        raise(SIGSTOP);
        bootstrap_run(request, tree->root, &out);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        skip(); /* no ptrace here */
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    while (n > 0) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status))
            return true;
        n -= is_change(child);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return false;
}

static void restart(const struct tree *tree)
{
    remove_below(tree->root);
    mkdir(tree->root, 0700);
    fill(tree);
}

static void a_power_cut_anywhere_is_completed(void **state)
{
    struct tree *tree = *state;
    char        *before = snapshot(tree), *after, *now;
    int          status;
    long         n;

    json_decref(run_op(tree, "apply", &status));
    after = snapshot(tree);
    for (n = 1;; n += CUT_EVERY) {
        restart(tree);
        if (run_until(tree, "apply", n))
            break;
        json_decref(run_op(tree, "apply", &status));
        assert_int_equal(status, 0);
        now = snapshot(tree);
        assert_string_equal(now, after);
        free(now);
        json_decref(run_op(tree, "undo", &status));
        assert_int_equal(status, 0);
        now = snapshot(tree);
        assert_string_equal(now, before);
        free(now);
    }
    assert_true(n > 60);
    free(before);
    free(after);
}

/* The same in the middle of an undo: the next one completes it. */
static void a_power_cut_in_undo_is_completed(void **state)
{
    struct tree *tree = *state;
    char        *before = snapshot(tree), *now;
    int          status;
    long         n;

    for (n = 1;; n += CUT_EVERY) {
        restart(tree);
        json_decref(run_op(tree, "apply", &status));
        if (run_until(tree, "undo", n))
            break;
        json_decref(run_op(tree, "undo", &status));
        assert_int_equal(status, 0);
        now = snapshot(tree);
        assert_string_equal(now, before);
        free(now);
    }
    assert_true(n > 20);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plan_changes_nothing_and_says_what, setup, teardown),
        cmocka_unit_test_setup_teardown(apply_then_again_then_undo, setup, teardown),
        cmocka_unit_test_setup_teardown(the_profile_is_sh, setup, teardown),
        cmocka_unit_test_setup_teardown(undo_leaves_what_others_have_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_that_fails_does_not_stop_the_others, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_note_is_said_once, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_chosen_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_does_not_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_symbolic_link_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_one_at_the_same_time_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_power_cut_anywhere_is_completed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_power_cut_in_undo_is_completed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
