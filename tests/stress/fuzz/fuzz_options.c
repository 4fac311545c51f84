/* fuzz_options.c - any words as muster's command line, one a line, or as a file of roles
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elastic/exit_class.h"
#include "exit_code.h"
#include "options/options.h"
#include "options/roles.h"
#include "output/rank_labels.h"
#include "xalloc.h"

#define WORDS_MAX  256

static const struct plan plan = { .world_size = 6 };

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
    struct role_lines again = { 0 };
    size_t            i;
    struct restart_on on;
    bool             *shown = NULL;
    int               rc;

    expect((options->command != COMMAND_RUN && options->command != COMMAND_EXEC) ||
           options->script != NULL || options->has_roles);
    expect(options->has_roles == (options->roles > 0));
    for (i = 0; i < options->roles; i++)
        expect(options->role[i].role_name != NULL && options->role[i].script != NULL);
    if (options->has_roles)
        expect(role_lines_cut(&again, &options->args, &err) == 0 && again.count == options->roles);
    role_lines_clear(&again);
    expect(options->ssh_port >= 0 && options->ssh_port <= 65535);
    expect(options->master_port >= 0 && options->master_port <= 65535);
    expect(options->num_ranks >= 0 && options->fanout >= 1);
    expect(options->heartbeat_s > 0 && options->dead_after_s > options->heartbeat_s);
    expect(options->grace_s >= 0 && options->timeout_s >= 0);
    expect(options->max_restarts >= 0 && (options->max_restarts == 0 || !options->no_ssh));
    expect(restart_on_parse(options->restart_on, &on, &err) == 0);
    rc = rank_labels_parse_shown(options->show_ranks, &plan, &shown, &err);
    expect(rc == 0 ? shown != NULL : err.text[0] != '\0');
    free(shown);
}

/* What begins with a colon is a file of roles. */
static void read_roles(const char *text, size_t size)
{
    struct role_lines lines = { 0 };
    struct error      err = { "" };
    char              path[32];
    int               fd = memfd_create("fuzz", MFD_CLOEXEC);

    expect(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (role_lines_read(&lines, path, &err) < 0)
        expect(err.text[0] != '\0');
    else
        expect(lines.count > 0 && lines.count <= ROLES_MAX);
    close(fd);
    role_lines_clear(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char          *text = xstrndup((const char *)data, size), *rest = text;
    char          *argv[WORDS_MAX + 2] = { (char *)"muster" };
    struct options options;
    struct error   err = { "" };
    int            argc = 1, exit_code = -1, rc;

    if (size > 0 && data[0] == ':')
        read_roles((const char *)data + 1, size - 1);
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
