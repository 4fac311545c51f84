/* do_request - does what muster bootstrap requests from a node; for power_cut.t, which kills it
 *
 * The request comes from standard input, and the lines go to standard output. It calls what the
 * child of an agent calls for a TASK; that one cut could not follow, as it is not cut's own child.
 * Exits with the task's status.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "bootstrap/bootstrap.h"
#include "exit_code.h"
#include "xalloc.h"

int main(void)
{
    struct task_output out = { STDOUT_FILENO };
    json_t            *request;
    int                status;

    xalloc_libraries();
    request = json_loadf(stdin, JSON_REJECT_DUPLICATES, NULL);
    status = json_is_object(request) ? bootstrap_task(request, &out) : EXIT_USAGE;
    json_decref(request);
    return status;
}
