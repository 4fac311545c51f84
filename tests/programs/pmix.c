/* pmix.c - a program that speaks PMIx itself, without MPI: what an MPI does not ask
 *
 *     pmix BYTES    every rank gives a value of so many bytes to all others; more than a
 *                   packet, a line of PMI or a part of them holds
 *     pmix half     a fence of half of the ranks, which muster-pmix refuses
 *     pmix direct   a value that no fence has collected: known on its own node alone
 *
 * Exits with 0 if all is as it must be.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_proc_t self;

static uint32_t job_size(void)
{
    pmix_proc_t    all;
    pmix_value_t  *value = NULL;
    pmix_status_t  status;

    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    status = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS) {
        printf("job size: %s\n", PMIx_Error_string(status));
        exit(1);
    }
    return value->data.uint32;
}

static int put(char *text)
{
    pmix_value_t value;
    int          status;

    PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
    status = PMIx_Put(PMIX_GLOBAL, "letters", &value);
    return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

/* Rank 0 has a's, rank 1 b's ... */
static int has_letters(uint32_t rank, size_t size)
{
    pmix_proc_t   other;
    pmix_value_t *value = NULL;
    size_t        i;

    PMIX_LOAD_PROCID(&other, self.nspace, rank);
    if (PMIx_Get(&other, "letters", NULL, 0, &value) != PMIX_SUCCESS ||
        value->type != PMIX_STRING || strlen(value->data.string) != size)
        return 0;
    for (i = 0; i < size; i++)
        if (value->data.string[i] != (char)('a' + rank))
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    const char   *what = argc > 1 ? argv[1] : "1";
    size_t        size = strtoul(what, NULL, 10);
    char         *text;
    bool          collect = true;
    pmix_info_t   info;
    pmix_proc_t   some[2];
    int           status, wrong = 0;
    uint32_t      rank, ranks;

    status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        printf("init: %s\n", PMIx_Error_string(status));
        return 1;
    }
    ranks = job_size();
    size = size > 0 ? size : 10;
    text = malloc(size + 1);
    memset(text, 'a' + (int)self.rank, size);
    text[size] = '\0';
    wrong += put(text) != PMIX_SUCCESS;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    if (strcmp(what, "half") == 0) {
        PMIX_LOAD_PROCID(&some[0], self.nspace, 0);
        PMIX_LOAD_PROCID(&some[1], self.nspace, ranks - 1);
        if (self.rank == 0 || self.rank == ranks - 1)
            wrong += PMIx_Fence(some, 2, &info, 1) == PMIX_SUCCESS;
    }
    wrong += PMIx_Fence(NULL, 0, &info, strcmp(what, "direct") != 0) != PMIX_SUCCESS;
    for (rank = 0; rank < ranks && strcmp(what, "direct") != 0; rank++)
        wrong += !has_letters(rank, size);
    if (strcmp(what, "direct") == 0)
        wrong += has_letters((self.rank + ranks / 2) % ranks, size);
    printf("rank %u of %u: %d wrong\n", self.rank, ranks, wrong);
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    return wrong > 0;
}
