/* page.h - the page of a run, which --metrics-listen shows in a browser
 *
 *     /, /page.css, /page.js    the page, the same for each run
 *     /events                   what it shows, as server-sent events: all of it, then each second
 *                               what has changed (page/page_view.h)
 *     /run.json                 the same once
 *     /rank?n=3                 one rank, by its number in the run, with its last lines
 *
 * muster looks at the run for it once a second, and only while a browser is there. There are at
 * most PAGE_STREAMS streams: the oldest ends. One that does not read gets less, and later, but what
 * it gets is right.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PAGE_H
#define MUSTER_PAGE_H

#include <event2/http.h>

#include "frame.h"

#define PAGE_STREAMS 16
#define PAGE_LINES   50 /* of a rank */
#define PAGE_LOOK_S  1.0
#define PAGE_ALIVE_S 5.0 /* between two signs of life on a stream */

struct plan;
struct run;

/* Makes run->page. */
void page_open(struct run *run);
/* The run is over, with that exit status, and each browser learns it, if its connection takes it
 * at once. */
void page_end(struct run *run, int status);
/* Ends all streams; call it before the server is freed. */
void page_free(struct run *run);

/* A rank has written output. Nothing happens without a page. */
void page_output(struct run *run, const struct frame *frame);

/* For the server's table. */
void page_answer_html(struct evhttp_request *request, void *arg);
void page_answer_css(struct evhttp_request *request, void *arg);
void page_answer_js(struct evhttp_request *request, void *arg);
void page_answer_run(struct evhttp_request *request, void *arg);
void page_answer_rank(struct evhttp_request *request, void *arg);
void page_answer_events(struct evhttp_request *request, void *arg);

#endif
