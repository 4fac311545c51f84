/* watch.c - see watch.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "api/watch.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"

#define WATCH_S       290
#define PAUSE_S       0.5 /* before reconnecting, if the last connection delivered nothing */
#define PAGE          500

struct watch {
    struct api             *api;
    char                   *path, *query;
    const struct watch_ops *ops;
    void                   *arg;
    struct api_stream      *stream;
    char                   *version; /* resourceVersion to resume at; NULL: list first */
    bool                    has_ended, has_brought;
    int64_t                 not_before_ns;
};

static int  list(struct watch *watch, struct error *err);
static void set_kind(json_t *object, const json_t *list);
static void take_line(void *arg, const char *line, size_t size);
static void take_end(void *arg, int status, const char *says);
static void keep_version(struct watch *watch, const json_t *object);

static const struct api_stream_ops stream_ops = { .line = take_line, .end = take_end };

struct watch *watch_open(struct api *api, const char *path, const char *query,
                         const struct watch_ops *ops, void *arg)
{
    struct watch *watch = xcalloc(1, sizeof *watch);

    *watch = (struct watch){ .api = api, .ops = ops, .arg = arg };
    watch->path = xstrdup(path);
    watch->query = xstrdup(query);
    return watch;
}

void watch_close(struct watch *watch)
{
    if (watch == NULL)
        return;
    api_stream_close(watch->stream);
    free(watch->path);
    free(watch->query);
    free(watch->version);
    free(watch);
}

int watch_step(struct watch *watch, struct error *err)
{
    char *path;

    if (watch->has_ended) {
        api_stream_close(watch->stream);
        watch->stream = NULL;
        watch->has_ended = false;
        watch->not_before_ns =
            clock_now_ns() + (watch->has_brought ? 0 : (int64_t)(PAUSE_S * NS_PER_S));
    }
    if (watch->stream != NULL || clock_now_ns() < watch->not_before_ns)
        return 0;
    if (watch->version == NULL && list(watch, err) < 0)
        return -1;
    watch->has_brought = false;
    path = xasprintf("%s?%s&watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s",
                     watch->path, watch->query, WATCH_S, watch->version);
    watch->stream = api_stream_open(watch->api, path, &stream_ops, watch);
    free(path);
    return 0;
}

int watch_take_line(struct watch *watch, const char *line, size_t size)
{
    json_t     *event = json_loadb(line, size, 0, NULL);
    json_t     *object = json_object_get(event, "object");
    const char *type = json_string_value(json_object_get(event, "type"));
    bool        is_error = type == NULL || object == NULL || strcmp(type, "ERROR") == 0;

    if (is_error) { /* 410, or a truncated line: only a list can show the missed changes */
        free(watch->version);
        watch->version = NULL;
    } else {
        keep_version(watch, object);
        if (strcmp(type, "BOOKMARK") != 0)
            watch->ops->change(watch->arg, object, strcmp(type, "DELETED") == 0);
    }
    json_decref(event);
    return is_error ? -1 : 0;
}

static int list(struct watch *watch, struct error *err)
{
    json_t     *reply = NULL, *object;
    char       *path, *more = xstrdup("");
    size_t      i;
    int         status;

    watch->ops->begin(watch->arg);
    do {
        path = xasprintf("%s?%s&limit=%d%s%s", watch->path, watch->query, PAGE,
                         more[0] != '\0' ? "&continue=" : "", more);
        status = api_request(watch->api, "GET", path, NULL, &reply, err);
        free(path);
        free(more);
        if (status != 200) {
            if (status > 0) {
                err_set(err, "%s: no such list (status %d)", watch->path, status);
                json_decref(reply);
            }
            return -1;
        }
        json_array_foreach(json_object_get(reply, "items"), i, object) {
            set_kind(object, reply);
            watch->ops->change(watch->arg, object, false);
        }
        keep_version(watch, reply);
        more = xstrdup(api_list_continue(reply));
        json_decref(reply);
    } while (more[0] != '\0');
    free(more);
    if (watch->version == NULL)
        return err_set(err, "%s: the list has no resourceVersion", watch->path);
    return 0;
}

/* Unlike the objects of a watch, the items of a PodList have no kind. */
static void set_kind(json_t *object, const json_t *list)
{
    const char *kind = json_string_value(json_object_get(list, "kind"));
    size_t      length = kind != NULL ? strlen(kind) : 0;

    if (length > 4 && strcmp(kind + length - 4, "List") == 0)
        json_object_set_new(object, "kind", json_stringn(kind, length - 4));
}

static void take_line(void *arg, const char *line, size_t size)
{
    struct watch *watch = arg;

    watch->has_brought = true;
    watch_take_line(watch, line, size);
}

static void take_end(void *arg, int status, const char *says)
{
    struct watch *watch = arg;

    watch->has_ended = true;
    if (status != 200 && status != 0) {
        log_info("watch of %s: %d %.200s", watch->path, status, says);
        free(watch->version);
        watch->version = NULL;
    }
}

static void keep_version(struct watch *watch, const json_t *object)
{
    const char *version =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

    if (version == NULL ||
        strspn(version, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") !=
            strlen(version))
        return;
    free(watch->version);
    watch->version = xstrdup(version);
}
