/* job.c - see job.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "job.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static bool is_name(const char *text);
static int  read_mapping(struct job *job, const char *text, struct error *err);
static bool read_block(const char **at, int block[3]);
static bool add_nodes(struct job *job, const int block[3]);

int job_read(struct job *job, const json_t *body, struct error *err)
{
    const char *name, *mapping;
    int         first, i;

    *job = (struct job){ 0 };
    if (json_unpack((json_t *)(size_t)body, "{s:s, s:i, s:s, s:i}", "namespace", &name, "size",
                    &job->size, "mapping", &mapping, "first", &first) < 0)
        return err_set(err, "namespace, size, mapping and first are needed");
    if (!is_name(name))
        return err_set(err, "the namespace is not 1 to %d letters and digits", JOB_NAMESPACE_MAX);
    if (job->size < 1 || job->size > JOB_RANKS_MAX)
        return err_set(err, "%d ranks; 1 to %d are possible", job->size, JOB_RANKS_MAX);
    if (read_mapping(job, mapping, err) < 0) {
        job_clear(job);
        return -1;
    }
    job->name = xstrdup(name);
    for (i = 0; i < job->nodes; i++)
        if (job->first[i] == first) {
            job->node = i;
            job->ranks = job->first[i + 1] - first;
            return 0;
        }
    job_clear(job);
    return err_set(err, "no node begins with rank %d", first);
}

void job_clear(struct job *job)
{
    free(job->name);
    free(job->first);
    *job = (struct job){ 0 };
}

char *job_peers(const struct job *job, int node)
{
    char  *text = NULL;
    size_t size;
    int    rank;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL)
        xalloc_die();
    for (rank = job->first[node]; rank < job->first[node + 1]; rank++)
        fprintf(out, "%s%d", rank > job->first[node] ? "," : "", rank);
    if (fclose(out) != 0)
        xalloc_die();
    return text;
}

static bool is_name(const char *text)
{
    size_t length;

    for (length = 0; text[length] != '\0'; length++)
        if (!isalnum((unsigned char)text[length]))
            return false;
    return length > 0 && length <= JOB_NAMESPACE_MAX;
}

/* "(vector,(0,2,4),(2,1,8))": two nodes from node 0 on have four ranks each, node 2 has eight. */
static int read_mapping(struct job *job, const char *text, struct error *err)
{
    static const char begin[] = "(vector";
    const char       *at = text + strlen(begin);
    int               block[3];

    job->first = xcalloc((size_t)job->size + 1, sizeof *job->first);
    if (strncmp(text, begin, strlen(begin)) != 0)
        return err_set(err, "mapping '%.80s' does not begin with '%s'", text, begin);
    while (*at == ',')
        if (!read_block(&at, block) || !add_nodes(job, block))
            return err_set(err, "mapping '%.80s' does not number %d ranks node by node", text,
                           job->size);
    if (strcmp(at, ")") != 0 || job->first[job->nodes] != job->size)
        return err_set(err, "mapping '%.80s' does not number %d ranks node by node", text,
                       job->size);
    return 0;
}

/* Reads ",(0,2,4)". */
static bool read_block(const char **at, int block[3])
{
    static const char before[3] = "(,,";
    int               i;
    char             *end;
    long              number;

    (*at)++;
    for (i = 0; i < 3; i++) {
        if (**at != before[i] || !isdigit((unsigned char)(*at)[1]))
            return false;
        number = strtol(*at + 1, &end, 10);
        if (number > JOB_RANKS_MAX)
            return false;
        block[i] = (int)number;
        *at = end;
    }
    return *(*at)++ == ')';
}

static bool add_nodes(struct job *job, const int block[3])
{
    int i;

    if (block[0] != job->nodes || block[2] < 1)
        return false;
    for (i = 0; i < block[1]; i++) {
        if (block[2] > job->size - job->first[job->nodes])
            return false;
        job->first[job->nodes + 1] = job->first[job->nodes] + block[2];
        job->nodes++;
    }
    return true;
}
