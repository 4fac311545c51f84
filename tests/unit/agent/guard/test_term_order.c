/* test_term_order.c - who gets TERM first in trees of processes
 *
 * A tree is a text: each letter is a process below the one before it. h handles TERM, i ignores it,
 * d leaves it to the system, s is a shell.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/term_order.h"

#define DEPTH_MAX 8

static char *self; /* this program */

static void handle(int number)
{
    (void)number;
}

/* Becomes the process of the tree's first letter. When the last one stands, its descriptor 1 says
 * so; a process ends when its descriptor 0 does. */
static int grow(const char *tree)
{
    char command[512], byte;

    if (tree[0] == 's') {
        snprintf(command, sizeof command, "%s tree %s; :", self, tree + 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        return 1;
    }
    signal(SIGTERM, tree[0] == 'h' ? handle : tree[0] == 'i' ? SIG_IGN : SIG_DFL);
    if (tree[1] == '\0')
        return write(1, "", 1) == 1 && read(0, &byte, 1) == 0 ? 0 : 1;
    if (fork() == 0)
        _exit(grow(tree + 1));
    while (wait(NULL) < 0)
        ;
    return 0;
}

/* Returns the letters of those that come first, from the top. */
static const char *first_of(const char *tree)
{
    static char       first[DEPTH_MAX + 1];
    struct term_order order = { 0 };
    struct process    process;
    int               in[2], out[2];
    char              byte;
    pid_t             pid, at, line[DEPTH_MAX] = { 0 };
    size_t            i, k, depth = strlen(tree), count = 0;
    struct processes  all;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        _exit(grow(tree));
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(read(out[0], &byte, 1), 1);
    processes_below(&all, pid);
    for (i = 0, at = pid; i < depth; i++) {
        line[i] = at;
        for (k = 0; k < all.count && all.item[k].parent != line[i]; k++)
            ;
        at = k < all.count ? all.item[k].pid : 0;
    }
    processes_clear(&all);
    term_order_choose(&order, &pid, 1);
    assert_true(order.count == 0 || term_order_waits(&order));
    for (i = 0; i < depth; i++)
        for (k = 0; k < order.count; k++)
            if (order.first[k].pid == line[i])
                first[count++] = tree[i];
    first[count] = '\0';
    assert_int_equal(count, order.count);
    close(in[1]);
    close(out[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(process_read(pid, &process));
    term_order_clear(&order);
    return first;
}

static void test_trees(void **state)
{
    static const struct {
        const char *tree, *first;
    } rows[] = {
        { "h", "h" },
        { "d", "d" },
        { "hh", "h" },     /* a rank and what loads its data */
        { "hd", "h" },
        { "dd", "d" },     /* the second ends when the first has ended */
        { "dh", "dh" },    /* a program that starts another one */
        { "ddh", "dh" },
        { "dhh", "dh" },
        { "ih", "ih" },
        { "sh", "sh" },    /* the line of a script */
        { "shd", "sh" },
        { "ssh", "sh" },
        { "sdh", "sh" },
        { "sd", "sd" },    /* nothing saves, so nothing waits */
        { "sdd", "sdd" },
        { "si", "si" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(first_of(rows[i].tree), rows[i].first) != 0)
            fail_msg("%s: %s, and not %s", rows[i].tree, first_of(rows[i].tree), rows[i].first);
}

static void test_gone(void **state)
{
    struct term_order order = { 0 };
    pid_t             pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    term_order_choose(&order, &pid, 1);
    assert_int_equal(order.count, 0);
    assert_false(term_order_waits(&order));
    term_order_choose(&order, NULL, 0);
    assert_int_equal(order.count, 0);
    term_order_clear(&order);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_gone),
    };

    self = realpath("/proc/self/exe", NULL);
    if (argc == 3 && strcmp(argv[1], "tree") == 0)
        return grow(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
