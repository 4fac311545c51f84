/* status_page.c - see status_page.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/status_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history/run_dir.h"
#include "page/page_file.h"
#include "xalloc.h"

static char *message_of(const struct past_run *run);
static void  say_died(json_t *page);
static int   write_file(const char *path, const char *text, struct error *err);
static int   write_all(FILE *file, const char *text);

int status_page_write(const struct past_run *run, const char *path, struct error *err)
{
    char *message = message_of(run), *text;
    int   rc;

    if (message == NULL)
        return err_set(err,
                       "its directory has nothing for --html: the run has just begun, or an older "
                       "muster has written it");
    text = page_file_make(message);
    rc = strcmp(path, "-") == 0 && write_all(stdout, text) == 0 ? 0
         : strcmp(path, "-") == 0 ? err_set(err, "standard output: %s", strerror(errno))
                                  : write_file(path, text, err);
    free(text);
    free(message);
    return rc;
}

/* Returns NULL if there is none. */
static char *message_of(const struct past_run *run)
{
    json_t *now = run->result == NULL ? run_dir_read(run->dir_fd, "status.json") : NULL;
    json_t *page = json_object_get(run->result != NULL ? run->result : now, "page");
    char   *text = NULL;

    if (json_is_object(page)) {
        if (run->state == PAST_RUN_DIED)
            say_died(page);
        text = json_dumps(page, JSON_COMPACT);
        if (text == NULL)
            xalloc_die();
    }
    json_decref(now);
    return text;
}

/* The launcher has not written that. */
static void say_died(json_t *page)
{
    json_t *state = json_object_get(page, "state");

    if (json_is_object(state))
        json_object_set_new(state, "state", json_string("died"));
}

/* A new file gets the name, so that a reader never sees a part of it. */
static int write_file(const char *path, const char *text, struct error *err)
{
    char *name = xasprintf("%s.XXXXXX", path);
    int   fd = mkostemp(name, O_CLOEXEC), error = 0;
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (file == NULL) {
        err_set(err, "%s: %s", path, strerror(errno));
        free(name);
        return -1;
    }
    if (write_all(file, text) < 0)
        error = errno;
    if (fclose(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(name, path) < 0)
        error = errno;
    if (error != 0) {
        unlink(name);
        err_set(err, "%s: %s", path, strerror(error));
    }
    free(name);
    return error != 0 ? -1 : 0;
}

static int write_all(FILE *file, const char *text)
{
    return fputs(text, file) < 0 || fflush(file) != 0 ? -1 : 0;
}
