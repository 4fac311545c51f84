/* test_account.c - where a Pod's service account leads, and when its token is read again
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/account.h"
#include "clock.h"

#define NOW (1000 * NS_PER_S)

static char directory[] = "account-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char  path[100];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    (void)state;
    setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    setenv("HOME", "/nowhere", 1);
    unsetenv("KUBECONFIG");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int end(void **state)
{
    static const char *const names[] = { "token", "namespace" };
    char                     path[100];
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    return rmdir(directory);
}

static void test_token(void **state)
{
    const int64_t  minute = ACCOUNT_TOKEN_S * NS_PER_S;
    struct account account;

    (void)state;
    account_open(&account, directory);
    assert_string_equal(account_token(&account, NOW), "");
    account_close(&account);
    write_file("token", "first\n");
    account_open(&account, directory);
    assert_string_equal(account_token(&account, NOW), "first");
    write_file("token", "second");
    assert_string_equal(account_token(&account, NOW + minute - 1), "first");
    assert_string_equal(account_token(&account, NOW + minute), "second");
    write_file("token", "");
    assert_string_equal(account_token(&account, NOW + 2 * minute), "second");
    write_file("token", "third");
    assert_string_equal(account_token(&account, NOW + 3 * minute), "third");
    account_close(&account);
    account_close(&account);
}

static void test_there(void **state)
{
    (void)state;
    write_file("token", "t");
    assert_true(account_is_there(directory));
    assert_false(account_is_there("/nowhere"));
    setenv("KUBECONFIG", "f", 1);
    assert_false(account_is_there(directory));
    setenv("KUBECONFIG", "", 1);
    assert_true(account_is_there(directory));
    unsetenv("KUBERNETES_SERVICE_PORT");
    assert_false(account_is_there(directory));
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
}

static void test_where(void **state)
{
    struct account account;
    char          *space;

    (void)state;
    space = account_namespace(directory);
    assert_string_equal(space, "default");
    free(space);
    write_file("namespace", "training");
    space = account_namespace(directory);
    assert_string_equal(space, "training");
    free(space);
    account_open(&account, directory);
    assert_string_equal(account.url, "https://10.96.0.1:443");
    account_close(&account);
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    account_open(&account, directory);
    assert_string_equal(account.url, "https://[fd00::1]:443");
    account_close(&account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_there),
        cmocka_unit_test(test_where),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
