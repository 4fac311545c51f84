/* options_fixture.h - muster's command line, as main() reads it, in an empty environment
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTIONS_FIXTURE_H
#define MUSTER_OPTIONS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "options/options.h"

static struct options options;
static struct error   err;
static int            exit_code;

static int parse(const char *const *argv)
{
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    options_clear(&options);
    err.text[0] = '\0';
    return options_parse(&options, argc, (char **)(uintptr_t)argv, &exit_code, &err);
}

#define PARSE(...) parse((const char *const[]){ "muster", __VA_ARGS__, NULL })
#define ACCEPT(...)                                                \
    do {                                                           \
        if (PARSE(__VA_ARGS__) != OPTIONS_RUN)                     \
            fail_msg("refused: %s", err.text);                     \
    } while (0)
#define REFUSE(reason, ...)                                        \
    do {                                                           \
        assert_int_equal(PARSE(__VA_ARGS__), -1);                  \
        assert_int_equal(exit_code, 2);                            \
        if (strstr(err.text, reason) == NULL)                      \
            fail_msg("'%s' is not in: %s", reason, err.text);      \
    } while (0)

/* Nothing of the tester's own, and a home without settings. */
static int set_up(void **state)
{
    char **entry;

    (void)state;
    for (entry = environ; *entry != NULL;)
        if (strncmp(*entry, "MUSTER_", 7) == 0) {
            char *name = strndup(*entry, strcspn(*entry, "="));
            unsetenv(name);
            free(name);
            entry = environ;
        } else {
            entry++;
        }
    unsetenv("PDSH_SSH_ARGS_APPEND");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/nonexistent", 1);
    return 0;
}

static int tear_down(void **state)
{
    options_clear(&options);
    return set_up(state);
}

#endif
