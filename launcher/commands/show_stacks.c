/* show_stacks.c - muster stacks: asks a running muster where its ranks are, and prints it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "history/run_dir.h"
#include "log.h"
#include "output/json_file.h"
#include "run/stacks.h"

#define LIMIT_S ((int)STACKS_S + PAST_RUN_ANSWER_S)

static int show(const struct past_run *run, struct error *err);
static int write_json(const struct past_run *run, const char *path, struct error *err);

int command_stacks(const struct options *options)
{
    struct history         list;
    const struct past_run *run = NULL;
    struct error           err;
    char                   answer[RUN_DIR_ANSWER_MAX];
    int                    status = EXIT_CREATE;

    err.text[0] = '\0'; /* json_file_write() says itself what has failed */
    if (history_read(&list, &err) == 0) {
        status = EXIT_USAGE;
        run = stop_choose(&list, options, &err);
        if (run != NULL &&
            past_run_ask(run, "stacks", LIMIT_S, answer, sizeof answer, &err) == 0) {
            status = options->json != NULL ? write_json(run, options->json, &err) : 0;
            if (status == 0 && (options->json == NULL || strcmp(options->json, "-") != 0))
                status = show(run, &err);
        }
    }
    if (status != 0 && err.text[0] != '\0')
        log_error("%s", err.text);
    if (run == NULL && options->run == NULL && list.count > 0)
        status_print_runs(&list, stderr);
    history_clear(&list);
    return status;
}

static int write_json(const struct past_run *run, const char *path, struct error *err)
{
    json_t *body = run_dir_read(run->dir_fd, RUN_DIR_STACKS_JSON);

    if (body == NULL)
        err_set(err, "%s: no %s (an older muster has begun the run)", run->id,
                RUN_DIR_STACKS_JSON);
    else if (json_file_write(path, body) == 0)
        return 0;
    return EXIT_CREATE;
}

/* The launcher has made the file safe to print. */
static int show(const struct past_run *run, struct error *err)
{
    char    text[16384];
    int     fd = openat(run->dir_fd, RUN_DIR_STACKS, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = -1;

    while (fd >= 0 && (got = read(fd, text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)got, stdout);
    if (got < 0)
        err_set(err, "%s: %s: %s", run->id, RUN_DIR_STACKS, strerror(errno));
    if (fd >= 0)
        close(fd);
    return got < 0 ? EXIT_CREATE : 0;
}
