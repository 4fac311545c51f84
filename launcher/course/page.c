/* page.c - see page.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/page.h"

#include <stdlib.h>
#include <string.h>

#include <event2/keyvalq_struct.h>

#include "clock.h"
#include "course/page_look.h"
#include "history/run_dir.h"
#include "metrics/http_server.h"
#include "metrics/http_stream.h"
#include "output/tail.h"
#include "page/page_file.h"
#include "page/page_host.h"
#include "page/page_points.h"
#include "run/run.h"
#include "run/steps.h"
#include "xalloc.h"
#include "xevent.h"

#define WAITING_MAX ((size_t)64 * 1024) /* bytes: the stream is left out until fewer wait */
#define NUMBER_MAX  9                   /* digits of a rank in a query */

struct page {
    struct page_view view;
    int              status; /* of the run; -1: it is not over */
    double           offset_s; /* of Unix time from clock_now_s() */
    char             machine[RUN_DIR_HOST_SIZE];
    struct event    *look; /* pending while there are streams */
    struct stream {
        struct http_stream *http; /* NULL: free */
        uint64_t            number; /* the oldest has the lowest */
        uint64_t            version, point, event; /* the last that it has got */
        int64_t             sent_ns;
    } stream[PAGE_STREAMS];
    uint64_t     count;
    struct tail *tail; /* by rank */
    int          tails;
};

static void           look_cb(evutil_socket_t fd, short what, void *arg);
static void           serve(struct run *run);
static void           send_changes(struct run *run, struct stream *stream);
static char          *changes(struct run *run, struct stream *seen);
static struct stream *place_for_new(struct page *page);
static void           answer_file(struct evhttp_request *request, const struct run *run,
                                  const char *type, const char *bytes, size_t size);
static void           answer_json(struct evhttp_request *request, char *text);
static bool           is_refused(struct evhttp_request *request, const struct run *run);
static bool           is_data_refused(struct evhttp_request *request, const struct run *run);
static int            rank_asked(struct evhttp_request *request, const struct run *run);
static json_t        *lines_of(const struct page *page, int rank);
static void           nothing_cb(const void *bytes, size_t size, void *arg);
static void           free_cb(const void *bytes, size_t size, void *arg);

void page_open(struct run *run)
{
    struct page *page = xcalloc(1, sizeof *page);

    page->status = -1;
    page->offset_s = page_look_offset_s();
    page->look = xevent_new(run->base, -1, look_cb, run);
    run_dir_host(page->machine);
    run->page = page;
}

void page_end(struct run *run, int status)
{
    struct page *page = run->page;
    size_t       i;
    bool         is_any = false;

    if (page == NULL)
        return;
    page->status = status;
    for (i = 0; i < PAGE_STREAMS; i++)
        is_any = is_any || page->stream[i].http != NULL;
    if (!is_any)
        return;
    serve(run);
    for (i = 0; i < PAGE_STREAMS; i++) {
        http_stream_free(page->stream[i].http);
        page->stream[i].http = NULL;
    }
    event_base_loop(run->base, EVLOOP_NONBLOCK); /* writes what the sockets take */
}

void page_free(struct run *run)
{
    struct page *page = run->page;
    size_t       i;

    if (page == NULL)
        return;
    run->page = NULL;
    for (i = 0; i < PAGE_STREAMS; i++)
        http_stream_free(page->stream[i].http);
    for (i = 0; i < (size_t)page->tails; i++)
        tail_clear(&page->tail[i]);
    free(page->tail);
    event_free(page->look);
    page_view_clear(&page->view);
    free(page);
}

/* Both streams are one here, as on a terminal. */
void page_output(struct run *run, const struct frame *frame)
{
    struct page *page = run->page;

    if (page == NULL || frame->rank >= (uint32_t)run->plan->world_size || frame->size == 0)
        return;
    if (run->plan->world_size > page->tails) {
        page->tail = xreallocarray(page->tail, (size_t)run->plan->world_size, sizeof *page->tail);
        memset(page->tail + page->tails, 0,
               (size_t)(run->plan->world_size - page->tails) * sizeof *page->tail);
        page->tails = run->plan->world_size;
    }
    tail_add(&page->tail[frame->rank], false, (const char *)frame->body, frame->size);
}

/* --- the streams ----------------------------------------------------------------------- */

void page_answer_events(struct evhttp_request *request, void *arg)
{
    const struct timeval now = clock_interval(0);
    struct run          *run = arg;
    struct page         *page = run->page;
    struct stream       *stream;

    if (is_data_refused(request, run))
        return;
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
        answer_file(request, run, "text/event-stream", "", 0);
        return;
    }
    stream = place_for_new(page);
    *stream = (struct stream){ .http = http_stream_new(request, "text/event-stream"),
                               .number = page->count++ };
    xevent_add(page->look, &now);
}

static struct stream *place_for_new(struct page *page)
{
    struct stream *oldest = &page->stream[0];
    size_t         i;

    for (i = 0; i < PAGE_STREAMS; i++) {
        if (page->stream[i].http == NULL)
            return &page->stream[i];
        if (page->stream[i].number < oldest->number)
            oldest = &page->stream[i];
    }
    http_stream_free(oldest->http);
    return oldest;
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval again = clock_interval(PAGE_LOOK_S);
    struct run          *run = arg;
    struct page         *page = run->page;
    bool                 is_any = false;
    size_t               i;

    (void)fd, (void)what;
    serve(run);
    for (i = 0; i < PAGE_STREAMS; i++)
        is_any = is_any || page->stream[i].http != NULL;
    if (is_any)
        xevent_add(page->look, &again);
}

static void serve(struct run *run)
{
    struct page *page = run->page;
    size_t       i;

    page_look(&page->view, run, page->status, page->offset_s);
    for (i = 0; i < PAGE_STREAMS; i++) {
        struct stream *stream = &page->stream[i];

        if (stream->http != NULL && !http_stream_is_open(stream->http)) {
            http_stream_free(stream->http);
            stream->http = NULL;
        }
        if (stream->http != NULL && http_stream_waiting(stream->http) <= WAITING_MAX)
            send_changes(run, stream);
    }
}

static void send_changes(struct run *run, struct stream *stream)
{
    static const char alive[] = ":\n\n";
    char             *message = changes(run, stream), *event;
    int64_t           now_ns = clock_now_ns();

    if (message != NULL) {
        event = xasprintf("data: %s\n\n", message);
        http_stream_send(stream->http, event, strlen(event));
        free(event);
    } else if ((double)(now_ns - stream->sent_ns) / NS_PER_S < PAGE_ALIVE_S) {
        return;
    } else {
        http_stream_send(stream->http, alive, strlen(alive));
    }
    stream->sent_ns = now_ns;
    free(message);
}

/* Returns what the stream has not seen, and notes that it has. NULL: nothing. */
static char *changes(struct run *run, struct stream *seen)
{
    const struct page         *page = run->page;
    const struct step_history *history = steps_history(run);
    char *points = page_points(history, seen->point, page->offset_s);
    char *events = page_look_events(run, seen->event, &seen->event);
    char *message = page_view_message(&page->view, seen->version, points, events);

    seen->version = page->view.version;
    seen->point = history->kept;
    free(points);
    free(events);
    return message;
}

/* --- single answers ------------------------------------------------------------------------ */

void page_answer_html(struct evhttp_request *request, void *arg)
{
    answer_file(request, arg, "text/html; charset=utf-8", page_html, page_html_size);
}

void page_answer_css(struct evhttp_request *request, void *arg)
{
    answer_file(request, arg, "text/css; charset=utf-8", page_css, page_css_size);
}

void page_answer_js(struct evhttp_request *request, void *arg)
{
    answer_file(request, arg, "text/javascript; charset=utf-8", page_js, page_js_size);
}

/* The page may use nothing but what this server has, and no other page may frame it. */
static void answer_file(struct evhttp_request *request, const struct run *run, const char *type,
                        const char *bytes, size_t size)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

    if (is_refused(request, run))
        return;
    evhttp_add_header(headers, "Content-Security-Policy",
                      "default-src 'none'; script-src 'self'; style-src 'self'; "
                      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'");
    evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
    evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
    http_server_reply(request, type, bytes, size, nothing_cb, NULL);
}

void page_answer_run(struct evhttp_request *request, void *arg)
{
    struct run   *run = arg;
    struct stream none = { 0 };

    if (is_data_refused(request, run))
        return;
    page_look(&run->page->view, run, run->page->status, run->page->offset_s);
    answer_json(request, changes(run, &none));
}

void page_answer_rank(struct evhttp_request *request, void *arg)
{
    struct run *run = arg;
    json_t     *about;
    int         rank;

    if (is_data_refused(request, run))
        return;
    rank = rank_asked(request, run);
    if (rank < 0) {
        http_server_refuse(request, HTTP_NOTFOUND, "no such rank");
        return;
    }
    about = page_look_rank(run, rank, lines_of(run->page, rank));
    answer_json(request, json_dumps(about, JSON_COMPACT));
    json_decref(about);
}

static void answer_json(struct evhttp_request *request, char *text)
{
    if (text == NULL)
        xalloc_die();
    http_server_reply(request, "application/json", text, strlen(text), free_cb, text);
}

static void nothing_cb(const void *bytes, size_t size, void *arg)
{
    (void)bytes, (void)size, (void)arg;
}

static void free_cb(const void *bytes, size_t size, void *arg)
{
    (void)bytes, (void)size;
    free(arg);
}

/* Refuses a request that a web site with another name may have made. */
static bool is_refused(struct evhttp_request *request, const struct run *run)
{
    if (page_host_is_ours(http_server_header(request, "Host"), run->page->machine))
        return false;
    http_server_refuse(request, 403, "use an address, localhost or the name of this machine");
    return true;
}

/* Browsers would not show the answer to another site, but that site's requests cost something. */
static bool is_data_refused(struct evhttp_request *request, const struct run *run)
{
    const char *from = http_server_header(request, "Sec-Fetch-Site");

    if (is_refused(request, run))
        return true;
    if (from == NULL || strcmp(from, "same-origin") == 0 || strcmp(from, "none") == 0)
        return false;
    http_server_refuse(request, 403, "only for the page itself");
    return true;
}

/* --- one rank --------------------------------------------------------------------------------- */

/* Reads "n=3" of the query; -1: there is no such rank here. */
static int rank_asked(struct evhttp_request *request, const struct run *run)
{
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    size_t      digits;
    int         rank;

    if (query == NULL || strncmp(query, "n=", 2) != 0)
        return -1;
    digits = strspn(query + 2, "0123456789");
    if (digits == 0 || digits > NUMBER_MAX || query[2 + digits] != '\0')
        return -1;
    rank = atoi(query + 2);
    return rank < run->plan->world_size && run->outcome.node_of[rank] < run->plan->nodes ? rank
                                                                                         : -1;
}

static json_t *lines_of(const struct page *page, int rank)
{
    struct strlist lines = { 0 };
    json_t        *list;

    if (rank < page->tails)
        tail_lines(&page->tail[rank], PAGE_LINES, &lines);
    list = page_look_lines(&lines);
    strlist_clear(&lines);
    return list;
}
