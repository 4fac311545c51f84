/* sample.h - what the GPUs and network ports of a node say of themselves at one moment
 *
 * A child of the agent reads it (gpu_counters.h, port_counters.h) and writes it as a line, from
 * which the agent makes a sample again: it compares it with the one before (sample_changes.h), and
 * reports to the launcher what shows how fast the node is.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SAMPLE_H
#define MUSTER_AGENT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define SAMPLE_GPUS_MAX  32
#define SAMPLE_PORTS_MAX 32
#define SAMPLE_NAME_SIZE 32
#define SAMPLE_UNKNOWN   (-1) /* a value that the driver does not give */

/* Why a GPU runs slower than it could, as NVML's bits. */
#define SAMPLE_HW_SLOWDOWN 0x08
#define SAMPLE_SW_THERMAL  0x20
#define SAMPLE_HW_THERMAL  0x40
#define SAMPLE_POWER_BRAKE 0x80

/* What is known of a GPU. Its driver counts from the time that it was loaded. */
enum gpu_value {
    GPU_ERROR, /* NVML's error if the GPU does not answer; 0: it does */
    GPU_MHZ,   /* of its processors */
    GPU_MHZ_MOST,
    GPU_BUSY,    /* percent of the time */
    GPU_REASONS, /* SAMPLE_HW_SLOWDOWN and others */
    GPU_MILLIWATTS,
    GPU_MILLIWATTS_MOST, /* its limit */
    GPU_CELSIUS,
    GPU_PCIE_SPEED, /* generation of its PCIe link */
    GPU_PCIE_SPEED_MOST,
    GPU_PCIE_LANES,
    GPU_PCIE_LANES_MOST,
    GPU_PCIE_REPEATS,
    GPU_ECC,           /* uncorrected errors of its memory */
    GPU_REMAP_PENDING, /* 1: a row of its memory is remapped at the next reset */
    GPU_REMAP_FAILED,
    GPU_LINKS, /* NVLinks that are active, by bit */
    GPU_LINK_RECOVERIES,
    GPU_LINK_ERRORS, /* corrected ones, of all NVLinks */
    GPU_VALUES
};

/* What is known of an InfiniBand or RoCE port. */
enum port_value {
    PORT_STATE, /* PORT_ACTIVE, or another one */
    PORT_GBITS, /* per second */
    PORT_DOWNS, /* how often its link went down */
    PORT_SYMBOL_ERRORS,
    PORT_RECEIVE_ERRORS,
    PORT_VALUES
};

#define PORT_ACTIVE 4

struct sample_port {
    char    name[SAMPLE_NAME_SIZE]; /* "mlx5_0/1" */
    int64_t value[PORT_VALUES];
};

struct sample {
    int64_t            gpu[SAMPLE_GPUS_MAX][GPU_VALUES]; /* by number, as nvidia-smi counts */
    size_t             gpus;
    struct sample_port port[SAMPLE_PORTS_MAX];
    size_t             ports;
    int64_t            throttles; /* how often a processor was too hot, since the start */
};

/* As a new object, and back. False: it is not what sample_json() makes. */
json_t *sample_json(const struct sample *sample);
bool    sample_read(struct sample *sample, const json_t *json);

/* Returns the body of SAMPLES: of the GPUs that ranks use (wanted, by number), and of all ports.
 * before: the sample before this one, every_s seconds ago. The caller releases it. */
json_t *sample_report(const struct sample *before, const struct sample *now, const bool *wanted,
                      double every_s);

/* Returns the port with that name; NULL: there is none. */
const struct sample_port *sample_port_find(const struct sample *sample, const char *name);

#endif
