/* open_page.c - muster open: prints where the page of a run is, and how to get there from afar
 *
 *     http://127.0.0.1:9464/
 *     from your machine: ssh -N -L 9464:127.0.0.1:9464 ann@te0
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/commands.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page/page_way.h"
#include "exit_code.h"
#include "history/run_dir.h"
#include "log.h"
#include "xalloc.h"

static struct past_run *choose(const struct history *list, const struct options *options,
                               struct error *err);
static int    print_way(const struct past_run *run, struct error *err);
static json_t *place_of(const struct past_run *run, struct error *err);
static char   *user_name(void);

int command_open(const struct options *options)
{
    struct history         list;
    const struct past_run *run = NULL;
    struct error           err;
    int                    status = EXIT_CREATE;

    if (history_read(&list, &err) == 0) {
        run = choose(&list, options, &err);
        status = run != NULL && print_way(run, &err) == 0 ? 0 : EXIT_USAGE;
    }
    if (status != 0)
        log_error("%s", err.text);
    if (run == NULL && options->run == NULL && list.count > 0)
        status_print_runs(&list, stderr);
    history_clear(&list);
    return status;
}

/* A run that another machine has launched has a page, too. */
static struct past_run *choose(const struct history *list, const struct options *options,
                               struct error *err)
{
    return options->run != NULL ? history_find(list, options->run, err)
                                : stop_choose(list, options, err);
}

static int print_way(const struct past_run *run, struct error *err)
{
    const char     *ssh = getenv("SSH_CONNECTION");
    json_t         *place = place_of(run, err);
    char           *user = user_name();
    struct page_way way;
    int             rc;

    rc = place != NULL ? page_way_find(&way, json_string_value(place), user,
                                       past_run_host(run), err)
                       : -1;
    if (rc == 0) {
        puts(way.url);
        if (way.ssh != NULL && (way.is_file || run->state == PAST_RUN_ELSEWHERE ||
                                (ssh != NULL && ssh[0] != '\0')))
            printf("from your machine: %s\n", way.ssh);
        page_way_clear(&way);
    }
    free(user);
    json_decref(place);
    return rc;
}

/* Returns the text of status.json that says where the page is. */
static json_t *place_of(const struct past_run *run, struct error *err)
{
    json_t *now, *place;

    if (run->state == PAST_RUN_ENDED || run->state == PAST_RUN_DIED) {
        err_set(err, "%s is over, and its page with it: muster status --html FILE %s writes one",
                run->id, run->id);
        return NULL;
    }
    if (run->state == PAST_RUN_ACTIVE)
        past_run_refresh(run);
    now = run_dir_read(run->dir_fd, "status.json");
    place = json_incref(json_object_get(now, "metrics"));
    json_decref(now);
    if (json_is_string(place))
        return place;
    json_decref(place);
    err_set(err, "%s serves no page: start runs with --metrics-listen, as in --metrics-listen=0 "
                 "for a free port", run->id);
    return NULL;
}

/* Returns a placeholder if the user has no name here. */
static char *user_name(void)
{
    const struct passwd *self = getpwuid(getuid());

    return xstrdup(self != NULL ? self->pw_name : "user");
}
