/* views.h - what a job shows of its run while that lasts: TensorBoard, the page, the metrics
 *
 * muster in the launcher serves page and metrics, at one port. For the page alone that is a port
 * of its Pod's loopback address, which `kubectl port-forward` reaches and no other Pod; for
 * Prometheus it is the same port of all the Pod's addresses.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_VIEWS_H
#define MUSTER_VIEWS_H

#include "job/fields.h"
#include "job/job_argv.h"

/* Callbacks for the options of submit; *to is a struct job_argv. */
int views_set_board(void *to, const char *value, struct error *err);
int views_set_board_image(void *to, const char *value, struct error *err);
int views_set_logdir(void *to, const char *value, struct error *err);
int views_set_page(void *to, const char *value, struct error *err);
int views_set_scrape(void *to, const char *value, struct error *err);
int views_set_scrape_space(void *to, const char *value, struct error *err);
int views_set_port(void *to, const char *value, struct error *err);

/* Adds the defaults, and a warning for each option that is ignored; call it after the last. */
void views_end(struct job_argv *argv);

/* Reads tensorboard, dashboard and metrics of a document's spec into a job, whose template was
 * read before; and adds these fields to a spec. */
void views_read(struct job *job, struct fields *spec);
void views_add(const struct job *job, json_t *spec);

/* Checks that page and metrics can be served. The error names the field, and what to write. */
int views_check(const struct job *job, struct error *err);

/* Returns where muster in the launcher listens: [ADDRESS:]PORT; NULL: nowhere. Caller frees. */
char *views_place(const struct job *job);

#endif
