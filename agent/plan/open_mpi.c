/* open_mpi.c - see open_mpi.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/open_mpi.h"

#include <stddef.h>
#include <string.h>

#include "exit_code.h"
#include "plan/elf.h"

/* Prefixes of names. libmpi.so.12 belongs to MPICH and Intel (Open MPI used it before 2016);
 * libpmix may be linked with those, too. */
static const char *const libraries[] = {
    "libmpi.so.20", "libmpi.so.40", "libmpi.so.80", "libmpi_mpifh.so.", "libmpi_usempi",
    "libmpi_cxx.so.", "liboshmem.so.", "libopen-rte.so", "libopen-pal.so",
};

bool open_mpi_has(const char *library)
{
    size_t i;

    for (i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(library, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

bool open_mpi_matters(const struct node_plan *plan)
{
    return plan->world_size > 1 && !plan->is_exec && !plan->allow_open_mpi;
}

int open_mpi_refuse(const struct node_plan *plan, const char *program, struct failure *failure)
{
    struct strlist needed = { 0 };
    size_t         i;
    int            rc = 0;

    if (!open_mpi_matters(plan) || !elf_needed(program, &needed))
        return 0;
    for (i = 0; i < needed.count && rc == 0; i++)
        if (open_mpi_has(needed.item[i]))
            rc = failure_set(failure, EXIT_CANNOT_EXECUTE, OPEN_MPI_HINT,
                             "%s is linked with Open MPI (%s): its ranks would not find each other "
                             "under muster", program, needed.item[i]);
    strlist_clear(&needed);
    return rc;
}
