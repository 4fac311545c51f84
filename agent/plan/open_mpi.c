/* open_mpi.c - see open_mpi.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "plan/open_mpi.h"

#include <stdio.h>
#include <string.h>

#include "exit_code.h"
#include "plan/elf.h"
#include "strlist.h"

#define INSTALL "install muster there, built with libpmix (Debian: libpmix-dev)"

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

bool open_mpi_is_linked(const char *program, char *library, size_t size)
{
    struct strlist needed = { 0 };
    size_t         i;
    bool           is = false;

    elf_needed(program, &needed);
    for (i = 0; i < needed.count && !is; i++) {
        is = open_mpi_has(needed.item[i]);
        snprintf(library, size, "%s", needed.item[i]);
    }
    strlist_clear(&needed);
    return is;
}

int open_mpi_refuse(const char *program, const char *library, struct failure *failure)
{
    if (library == NULL)
        return failure_set(failure, EXIT_CANNOT_EXECUTE, INSTALL,
                           "muster-pmix is not on this node");
    return failure_set(failure, EXIT_CANNOT_EXECUTE,
                       INSTALL ", or build the program with MPICH; if each rank should run alone, "
                               "use --allow-open-mpi",
                       "%s is linked with Open MPI (%s): its ranks would not find each other "
                       "without muster-pmix, which is not on this node", program, library);
}
