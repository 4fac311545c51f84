/* report.c - see report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "init/report.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "fd.h"
#include "file.h"
#include "runid.h"
#include "xalloc.h"

#define RESULT_MAX (256 << 20)
#define TEXT_MAX   600 /* bytes of each text of the first failure, if the report is too long */

static json_t *last_result(const char *runs, char **run_id);
static char   *report_text(const json_t *result, const char *run_id);
static char   *short_text(json_t *report);
static void    shorten(json_t *object);

void report_write(const char *path, double since)
{
    char   *runs = runid_directory(), *run_id = NULL, *text = NULL;
    json_t *result = runs != NULL ? last_result(runs, &run_id) : NULL;
    int     fd;

    /* An older result in this home directory is that of an earlier container. */
    if (result != NULL && json_number_value(json_object_get(result, "end")) >= since)
        text = report_text(result, run_id);
    fd = text != NULL ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fd_write_all(fd, text, strlen(text));
        close(fd);
    }
    json_decref(result);
    free(text);
    free(run_id);
    free(runs);
}

double report_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads the result of the last run; run ids begin with the time. */
static json_t *last_result(const char *runs, char **run_id)
{
    struct dirent **entry = NULL;
    struct error    harmless;
    json_t         *result = NULL;
    char           *path, *bytes;
    size_t          size;
    int             count = scandir(runs, &entry, runid_is_entry, alphasort), i;

    if (count > 0) {
        *run_id = xstrdup(entry[count - 1]->d_name);
        path = xasprintf("%s/%s/result.json", runs, *run_id);
        bytes = file_read_at_once(path, RESULT_MAX, &size, &harmless);
        if (bytes != NULL)
            result = json_loadb(bytes, size, 0, NULL);
        free(bytes);
        free(path);
    }
    for (i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    return result;
}

/* NULL: the report does not fit. */
static char *report_text(const json_t *result, const char *run_id)
{
    static const char *const names[] = { "exit_status", "generation",    "start",
                                         "end",         "first_failure", "node_failures" };
    json_t *report = json_object(), *value;
    char   *text;
    size_t  i;

    json_object_set_new(report, "run_id", json_string(run_id));
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        value = json_object_get(result, names[i]);
        if (value != NULL)
            json_object_set_new(report, names[i], json_deep_copy(value));
    }
    text = short_text(report);
    json_decref(report);
    return text;
}

/* Shortens the report until it fits: drops half of the nodes at a time, then truncates long
 * texts. NULL: it does not fit. */
static char *short_text(json_t *report)
{
    json_t *nodes = json_object_get(report, "node_failures");
    char   *text = json_dumps(report, JSON_COMPACT);
    bool    is_short = false;
    size_t  count;

    while (text != NULL && strlen(text) > REPORT_BYTES && !is_short) {
        count = json_array_size(nodes);
        if (count > 0)
            while (json_array_size(nodes) > count / 2)
                json_array_remove(nodes, json_array_size(nodes) - 1);
        else {
            shorten(json_object_get(report, "first_failure"));
            is_short = true;
        }
        free(text);
        text = json_dumps(report, JSON_COMPACT);
    }
    if (text == NULL || strlen(text) <= REPORT_BYTES)
        return text;
    free(text);
    return NULL;
}

/* Truncates the object's long texts. */
static void shorten(json_t *object)
{
    const char *name, *text;
    char       *copy;
    json_t     *value;
    size_t      length;
    void       *next;

    json_object_foreach_safe(object, next, name, value) {
        text = json_string_value(value);
        if (text == NULL || strlen(text) <= TEXT_MAX)
            continue;
        length = TEXT_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--; /* not within a character */
        copy = xstrndup(text, length);
        json_object_set_new(object, name, json_string(copy));
        free(copy);
    }
}
