/* flight.c - see flight.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "course/flight.h"

#include "log.h"
#include "run/run.h"

void flight_write(const struct run *run)
{
    struct error err;

    if (run_dir_flight(&run->dir, flight_records_json(&run->outcome.flight), &err) < 0)
        log_warn("%s: %s", run->dir.path, err.text);
}

void flight_tell(const struct run *run)
{
    flight_write(run);
    flight_records_tell(&run->outcome.flight, run->outcome.plan);
}
