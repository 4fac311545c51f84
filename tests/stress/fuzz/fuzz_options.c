/* fuzz_options.c - any words as muster's command line, one a line
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elastic/exit_class.h"
#include "exit_code.h"
#include "options/options.h"
#include "output/rank_labels.h"
#include "xalloc.h"

#define WORDS_MAX  256
#define WORLD_SIZE 6

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int is_true)
{
    if (!is_true)
        abort();
}

/* No settings but the words', and no file that waits for somebody to type. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    log_init("fuzz", LOG_ERROR);
    return freopen("/dev/null", "r", stdin) == NULL;
}

static void check_accepted(const struct options *options)
{
    struct error      err = { "" };
    struct restart_on on;
    bool             *shown = NULL;
    int               rc;

    expect((options->command != COMMAND_RUN && options->command != COMMAND_EXEC) ||
           options->script != NULL);
    expect(options->ssh_port >= 0 && options->ssh_port <= 65535);
    expect(options->master_port >= 0 && options->master_port <= 65535);
    expect(options->num_ranks >= 0 && options->fanout >= 1);
    expect(options->heartbeat_s > 0 && options->dead_after_s > options->heartbeat_s);
    expect(options->grace_s >= 0 && options->timeout_s >= 0);
    expect(options->max_restarts >= 0 && (options->max_restarts == 0 || !options->no_ssh));
    expect(restart_on_parse(options->restart_on, &on, &err) == 0);
    rc = rank_labels_parse_shown(options->show_ranks, WORLD_SIZE, &shown, &err);
    expect(rc == 0 ? shown != NULL : err.text[0] != '\0');
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char          *text = xstrndup((const char *)data, size), *rest = text;
    char          *argv[WORDS_MAX + 2] = { (char *)"muster" };
    struct options options;
    struct error   err = { "" };
    int            argc = 1, exit_code = -1, rc;

    while (argc <= WORDS_MAX && (argv[argc] = strsep(&rest, "\n")) != NULL)
        argc++;
    argv[argc] = NULL;
    rc = options_parse(&options, argc, argv, &exit_code, &err);
    if (rc == OPTIONS_RUN)
        check_accepted(&options);
    else if (rc < 0)
        expect(err.text[0] != '\0' && (exit_code == EXIT_USAGE || exit_code == EXIT_DATA));
    options_clear(&options);
    free(text);
    return 0;
}
