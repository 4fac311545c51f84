/* fuzz_doctor.c - what nodes may say to muster doctor, and what getent, the kernel's log and
 * journalctl may say to its checks
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/judge.h"
#include "doctor/names.h"
#include "evidence/journalctl.h"
#include "evidence/last_day.h"
#include "xalloc.h"

#define NODES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line of JSON each: for the nodes in turn, {"hello":{...}, "facts":{...}}. */
static void compare(const char *text)
{
    struct plan_node plan_nodes[NODES] = { { .host = (char[]){ "te1" } },
                                           { .host = (char[]){ "te2" } },
                                           { .host = (char[]){ "te3" } } };
    struct plan      plan = { .node = plan_nodes, .nodes = NODES };
    struct subject   subject[NODES] = { { .host = "te1" }, { .host = "te2" }, { .host = "te3" } };
    struct subjects  subjects = { subject, NODES, false };
    struct findings  findings = { 0 };
    json_t          *said[NODES];
    FILE            *null = fopen("/dev/null", "w");
    size_t           i, length;

    for (i = 0; i < NODES; i++) {
        length = strcspn(text, "\n");
        said[i] = json_loadb(text, length, 0, NULL);
        text += length + (text[length] != '\0');
        subject[i].hello = json_object_get(said[i], "hello");
        subject[i].facts = json_object_get(said[i], "facts");
    }
    judge(&subjects, &findings);
    findings_print(&findings, &plan, null);
    json_decref(findings_json(&findings, &plan));
    findings_clear(&findings);
    for (i = 0; i < NODES; i++)
        json_decref(said[i]);
    fclose(null);
}

static void add_message(const struct kernel_message *message, void *arg)
{
    struct evidence evidence;

    if (evidence_read(message->text, &evidence))
        evidence_list_add(arg, &evidence, message->text);
}

/* The entries may be torn anywhere. */
static void read_journal(const char *text, size_t size, struct evidence_list *list)
{
    struct journalctl one = { .out = -1, .err = -1, .boot = "0" };

    one.line = xmalloc(JOURNALCTL_LINE_MAX);
    journalctl_feed(&one, text, size / 2, add_message, list);
    journalctl_feed(&one, text + size / 2, size - size / 2, add_message, list);
    journalctl_close(&one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                *text = xstrndup((const char *)data, size);
    struct strlist       names = { 0 };
    struct evidence_list evidence = { 0 };

    strlist_add(&names, "te1");
    strlist_add(&names, "te2");
    json_decref(names_read(text, &names));
    last_day_of(text, 0, &evidence);
    read_journal((const char *)data, size, &evidence);
    json_decref(evidence_list_changed(&evidence));
    evidence_list_clear(&evidence);
    compare(text);
    strlist_clear(&names);
    free(text);
    return 0;
}
