/* bootstrap.c - see bootstrap.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/bootstrap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/steps.h"
#include "bootstrap/undo.h"
#include "frame.h"
#include "xalloc.h"

/* In the order in which they are done: the disk is mounted before its contents are examined. */
static const struct step {
    const char *name;
    step_f     *look;
    step_f     *act; /* with apply, after the changes: work that changes no state; or NULL */
} steps[] = {
    { "key", step_authorized_key, NULL },
    { "mesh", step_mesh, NULL },
    { "name", step_host_name, NULL },
    { "hosts", step_hosts_block, NULL },
    { "packages", step_packages, NULL },
    { "driver", step_driver_lists, NULL },
    { "driver", step_driver, NULL },
    { "data", step_data_disk, NULL },
    { "user", step_user, NULL },
    { "shell", step_shell_profile, NULL },
    { "limits", step_limits, NULL },
    { "python", step_python, NULL },
    { "conda", step_conda, NULL },
    { "project", step_project, pushed_project_record },
    { "environment", step_environment, NULL },
    { "gpus", step_gpus, step_gpus_free },
    { "warm", step_warm, step_warm_read },
    { "receipt", step_receipt, NULL },
};
#define STEPS (sizeof steps / sizeof *steps)

static int         read_request(struct bootstrap *b, const json_t *request, struct error *err);
static const char *text_of(const json_t *request, const char *key);
static int         run_steps(struct bootstrap *b, struct error *err);
static bool        is_wanted(const struct bootstrap *b, const char *name);
static int         run_step(struct bootstrap *b, const struct step *step,
                            struct journal *journal);
static int         apply(struct bootstrap *b, const struct step *step, struct journal *journal,
                         struct finding *finding, struct error *err);
static void        add_new(json_t *notes, const json_t *more);
static void        report(struct bootstrap *b, const struct step *step, const char *state,
                          const struct finding *finding, const struct error *err);
static json_t     *text_json(const char *text);
static void        finding_clear(struct finding *finding);

int bootstrap_task(const json_t *request, struct task_output *out)
{
    return strcmp(text_of(request, "op"), "look") == 0 ? 0 : bootstrap_run(request, "", out);
}

int bootstrap_run(const json_t *request, const char *root, struct task_output *out)
{
    struct bootstrap b = { .root = root, .out = out, .facts = json_object() };
    struct error     err = { "" };
    int              rc = read_request(&b, request, &err);

    if (rc == 0 && b.op == BOOTSTRAP_MESH)
        rc = mesh_run(&b, json_is_true(json_object_get(request, "apply")), &err);
    else if (rc == 0 && b.op == BOOTSTRAP_UNDO)
        rc = undo_run(&b, &err);
    else if (rc == 0 && b.op == BOOTSTRAP_RECORD)
        rc = warm_record(&b, &err);
    else if (rc == 0 && b.op == BOOTSTRAP_SWARM_LOOK)
        rc = warm_swarm_look(&b, request, &err);
    else if (rc == 0 && b.op == BOOTSTRAP_SWARM)
        rc = warm_swarm(&b, request, &err);
    else if (rc == 0)
        rc = run_steps(&b, &err);
    if (rc < 0)
        task_output_line(out, json_pack("{s:o}", "error", text_json(err.text)));
    json_decref(b.facts);
    return rc != 0;
}

static int read_request(struct bootstrap *b, const json_t *request, struct error *err)
{
    static const char *const ops[] = { "plan", "apply", "undo", "record", "mesh",
                                       "swarm-look", "swarm" };
    const char              *op = text_of(request, "op");
    size_t                   i;

    for (i = 0; i < sizeof ops / sizeof *ops && strcmp(ops[i], op) != 0; i++)
        ;
    if (i == sizeof ops / sizeof *ops)
        return err_set(err, "the request has an unknown \"op\"");
    b->op = (enum bootstrap_op)i;
    b->has_swarm = strcmp(text_of(request, "warm"), "swarm") == 0;
    b->name = text_of(request, "name");
    b->user = text_of(request, "user");
    b->home = text_of(request, "home");
    b->hosts = json_object_get(request, "hosts");
    b->conf = json_object_get(request, "conf");
    b->steps = json_object_get(request, "steps");
    b->list = json_object_get(request, "list");
    return 0;
}

static const char *text_of(const json_t *request, const char *key)
{
    const char *text = json_string_value(json_object_get(request, key));

    return text != NULL ? text : "";
}

/* If a step fails, the next ones are still done. */
static int run_steps(struct bootstrap *b, struct error *err)
{
    struct journal journal;
    size_t         i;
    int            failed = 0;

    if (b->op == BOOTSTRAP_APPLY && journal_open(&journal, b->root, err) < 0)
        return -1;
    for (i = 0; i < STEPS; i++)
        if (is_wanted(b, steps[i].name) && run_step(b, &steps[i], &journal) < 0)
            failed = 1;
    if (b->op == BOOTSTRAP_APPLY)
        journal_close(&journal);
    return failed;
}

static bool is_wanted(const struct bootstrap *b, const char *name)
{
    const json_t *one;
    size_t        i;

    json_array_foreach(b->steps, i, one)
        if (strcmp(json_string_value(one) != NULL ? json_string_value(one) : "", name) == 0)
            return true;
    return b->steps == NULL;
}

static int run_step(struct bootstrap *b, const struct step *step, struct journal *journal)
{
    struct finding finding = { .changes = { .root = b->root }, .notes = json_array() };
    struct error   err = { "" };
    const char    *state;
    int            rc = step->look(b, &finding, &err);

    state = finding.is_unused             ? "unused"
            : finding.is_later            ? "later"
            : finding.changes.count == 0  ? "ok"
            : b->op == BOOTSTRAP_PLAN     ? "change"
                                          : "changed";
    if (rc == 0 && b->op == BOOTSTRAP_PLAN && finding.changes.count > 0)
        b->is_pending = true;
    if (rc == 0 && b->op == BOOTSTRAP_APPLY && !finding.is_unused)
        rc = apply(b, step, journal, &finding, &err);
    if (rc < 0 && finding.fix[0] == '\0')
        finding_fix(&finding, "fix that, then run it again; --skip %s skips this step",
                    step->name);
    report(b, step, rc < 0 ? "failed" : state, &finding, rc < 0 ? &err : NULL);
    finding_clear(&finding);
    return rc;
}

/* After apply no change may remain, or the next apply would make it again. */
static int apply(struct bootstrap *b, const struct step *step, struct journal *journal,
                 struct finding *finding, struct error *err)
{
    struct finding again = { .changes = { .root = b->root }, .notes = json_array() };
    int            rc = changes_make(&finding->changes, step->name, journal, err);

    if (rc == 0 && finding->changes.count > 0) {
        rc = step->look(b, &again, err);
        if (rc == 0 && again.changes.count > 0)
            rc = err_set(err, "this was changed, but did not stay changed: %s",
                         again.changes.item[0].what);
        add_new(finding->notes, again.notes);
    }
    if (rc == 0 && step->act != NULL)
        rc = step->act(b, finding, err);
    if (rc < 0 && again.fix[0] != '\0')
        snprintf(finding->fix, sizeof finding->fix, "%s", again.fix);
    finding_clear(&again);
    return rc;
}

/* Adds the notes of the second look that the first look has not added. */
static void add_new(json_t *notes, const json_t *more)
{
    json_t *one, *have;
    size_t  i, k;

    json_array_foreach(more, i, one) {
        json_array_foreach(notes, k, have)
            if (json_equal(have, one))
                break;
        if (k == json_array_size(notes))
            json_array_append(notes, one);
    }
}

/* --- reports ---------------------------------------------------------------- */

static void report(struct bootstrap *b, const struct step *step, const char *state,
                   const struct finding *finding, const struct error *err)
{
    json_t *line = json_pack("{s:s, s:s}", "step", step->name, "state", state);
    json_t *list = json_array();
    size_t  i;

    for (i = 0; i < finding->changes.count; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}",
                                              "what", text_json(finding->changes.item[i].what),
                                              "why", text_json(finding->changes.item[i].why)));
    json_object_set_new(line, "changes", list);
    json_object_set(line, "notes", finding->notes);
    if (err != NULL)
        json_object_set_new(line, "error", text_json(err->text));
    if (err != NULL)
        json_object_set_new(line, "fix", text_json(finding->fix));
    task_output_line(b->out, line);
}

void bootstrap_progress(struct bootstrap *b, const char *step, const char *text)
{
    task_output_line(b->out, json_pack("{s:s, s:o}", "step", step, "progress", text_json(text)));
}

const char *bootstrap_conf(const struct bootstrap *b, const char *section, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(b->conf, section), key));

    return text != NULL && text[0] != '\0' ? text : NULL;
}

void finding_note(struct finding *finding, const char *format, ...)
{
    char    text[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    json_array_append_new(finding->notes, text_json(text));
}

void finding_fix(struct finding *finding, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(finding->fix, sizeof finding->fix, format, ap);
    va_end(ap);
}

static json_t *text_json(const char *text)
{
    return json_text(text, strlen(text));
}

static void finding_clear(struct finding *finding)
{
    changes_clear(&finding->changes);
    json_decref(finding->notes);
}
