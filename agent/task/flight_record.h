/* flight_record.h - what PyTorch's flight recorder knows about a rank's last collectives
 *
 * PyTorch keeps the last collectives of each process in memory. It writes them to a file when one
 * of them times out, and when something is written to a pipe of its own; the names of both end with
 * the number of the rank. The file is a pickle: a python3 of the node reads it, with a script of
 * ours that accepts plain data only.
 *
 * See torch/csrc/distributed/c10d: FlightRecorder.hpp, ProcessGroupNCCL.cpp (DumpPipe).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FLIGHT_RECORD_H
#define MUSTER_AGENT_FLIGHT_RECORD_H

#include <jansson.h>

#include "task/task.h"

#define FLIGHT_RECORD_DUMP_S 5.0 /* within which PyTorch must write a file that was asked for */
#define FLIGHT_RECORD_READ_S 5.0 /* within which python3 must read all files of the node */

/* The task (task.h). Its request:
 *
 *     {"python": path, "asks": true, "ranks": [{"rank": 3, "file": path, "pipe": path}, ...]}
 *
 * asks: writes to the pipes first, and waits for new files. Without it only files count that are
 * there. Each line is {"rank", "groups"} or {"rank", "error"}, as task/flight_record.py prints it;
 * a rank without a file has none. */
extern const struct task_row flight_record_row;

/* task/flight_record.py */
extern const char flight_record_script[];

#endif
