/* sample_changes.c - see sample_changes.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "samples/sample_changes.h"

#include <inttypes.h>
#include <stdio.h>

#include "node/nvml.h"

#define RESET    "reset the GPU, or reboot the node"
#define REPLACE  "if it happens again, have the GPU replaced"
#define BAD_GPU  "have the GPU replaced"
#define REBOOT   "reboot the node; if it happens again, have the GPU replaced"
#define FABRIC   "reset the GPUs with their NVSwitches, or reboot the node"
#define SLOT     "have the slot, the card and its cables checked"
#define CABLE    "check the cable and the switch"
#define NOTHING  ""
#define BUSY     50 /* percent: an idle GPU slows its PCIe link down */
#define SLOWED   (SAMPLE_HW_SLOWDOWN | SAMPLE_HW_THERMAL | SAMPLE_POWER_BRAKE)
#define WORDS    160

struct row {
    int                    value;
    int64_t                least; /* by which the value must have grown */
    const char            *kind;
    enum evidence_severity severity;
    const char            *what, *action, *counter;
};

static const struct row gpu_rows[] = {
    { GPU_ECC, 1, "ecc", EVIDENCE_ERROR, "uncorrected errors of a GPU's memory", REPLACE,
      "uncorrected ECC errors" },
    { GPU_REMAP_PENDING, 1, "gpu remap", EVIDENCE_BROKEN,
      "a GPU has a row of its memory to remap", RESET, "remap pending" },
    { GPU_REMAP_FAILED, 1, "gpu remap failed", EVIDENCE_BROKEN,
      "a GPU could not remap a row of its memory", BAD_GPU, "remap failed" },
    { GPU_PCIE_REPEATS, SAMPLE_REPEATS, "pcie repeats", EVIDENCE_NOTICE,
      "a GPU's PCIe link repeats what was lost", NOTHING, "PCIe packets sent again" },
    { GPU_LINK_RECOVERIES, 1, "nvlink recovery", EVIDENCE_ERROR, "an NVLink had to recover",
      FABRIC, "NVLink recoveries" },
    { GPU_LINK_ERRORS, 1, "nvlink corrected", EVIDENCE_NOTICE, "corrected errors of NVLinks",
      NOTHING, "NVLink errors" },
};

static const struct row port_rows[] = {
    { PORT_DOWNS, 1, "link", EVIDENCE_ERROR, "a network link went down", CABLE, "link_downed" },
    { PORT_SYMBOL_ERRORS, SAMPLE_PORT_ERRORS, "link errors", EVIDENCE_ERROR,
      "many errors of a network link", CABLE, "symbol_error" },
    { PORT_RECEIVE_ERRORS, SAMPLE_PORT_ERRORS, "link errors", EVIDENCE_ERROR,
      "many errors of a network link", CABLE, "port_rcv_errors" },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Whom the changes are for. */
struct changes {
    sample_changes_add *add;
    void               *arg;
};

static void see_gpu(const int64_t *first, const int64_t *before, const int64_t *now,
                    const char *device, const struct changes *to);
static bool see_loss(const int64_t *before, const int64_t *now, const char *device,
                     const struct changes *to);
static void see_links(const int64_t *before, const int64_t *now, const char *device,
                      const struct changes *to);
static void see_pcie(const int64_t *first, const int64_t *before, const int64_t *now,
                     const char *device, const struct changes *to);
static void see_port(const struct sample_port *before, const struct sample_port *now,
                     const struct changes *to);
static void see_rows(const struct row *row, size_t rows, const int64_t *before,
                     const int64_t *now, const char *device, const struct changes *to);
static bool is_narrow(const int64_t *usual, const int64_t *gpu);
static bool is_below_most(const int64_t *gpu);
static void add(const struct row *row, const char *device, const char *text,
                const struct changes *to);

void sample_changes(const struct sample *first, const struct sample *before,
                    const struct sample *now, const bool *wanted, sample_changes_add *add_to,
                    void *arg)
{
    const struct changes      to = { add_to, arg };
    const struct sample_port *port;
    char                      device[EVIDENCE_DEVICE_SIZE];
    size_t                    i;

    for (i = 0; i < now->gpus && i < before->gpus && i < first->gpus; i++) {
        snprintf(device, sizeof device, "GPU %zu", i);
        if (wanted[i])
            see_gpu(first->gpu[i], before->gpu[i], now->gpu[i], device, &to);
    }
    for (i = 0; i < now->ports; i++)
        if ((port = sample_port_find(before, now->port[i].name)) != NULL)
            see_port(port, &now->port[i], &to);
}

static void see_gpu(const int64_t *first, const int64_t *before, const int64_t *now,
                    const char *device, const struct changes *to)
{
    static const struct row slowed = { .kind = "gpu slowdown",
                                       .severity = EVIDENCE_NOTICE,
                                       .what = "a GPU is too hot, or gets too little power",
                                       .action = NOTHING };
    char                    text[WORDS];

    if (see_loss(before, now, device, to))
        return;
    see_rows(gpu_rows, COUNT(gpu_rows), before, now, device, to);
    see_links(before, now, device, to);
    see_pcie(first, before, now, device, to);
    if (before[GPU_REASONS] < 0 || now[GPU_REASONS] < 0 || (before[GPU_REASONS] & SLOWED) != 0 ||
        (now[GPU_REASONS] & SLOWED) == 0)
        return;
    snprintf(text, sizeof text, "%s: reasons of its clock: 0x%" PRIx64 ", now 0x%" PRIx64,
             device, (uint64_t)before[GPU_REASONS], (uint64_t)now[GPU_REASONS]);
    add(&slowed, device, text, to);
}

/* True: the GPU does not answer now, and so its other values are not known. */
static bool see_loss(const int64_t *before, const int64_t *now, const char *device,
                     const struct changes *to)
{
    static const struct row lost = { .kind = "gpu lost",
                                     .severity = EVIDENCE_BROKEN,
                                     .what = "a GPU does not answer any more",
                                     .action = REBOOT };
    static const struct row reset = { .kind = "gpu reset",
                                      .severity = EVIDENCE_BROKEN,
                                      .what = "a GPU must be reset",
                                      .action = RESET };
    char                    text[WORDS];

    if (before[GPU_ERROR] == 0 &&
        (now[GPU_ERROR] == NVML_GPU_LOST || now[GPU_ERROR] == NVML_RESET_REQUIRED)) {
        snprintf(text, sizeof text, "%s: error %" PRId64 " of NVML", device, now[GPU_ERROR]);
        add(now[GPU_ERROR] == NVML_GPU_LOST ? &lost : &reset, device, text, to);
    }
    return now[GPU_ERROR] != 0 || before[GPU_ERROR] != 0;
}

static void see_links(const int64_t *before, const int64_t *now, const char *device,
                      const struct changes *to)
{
    static const struct row down = { .kind = "nvlink",
                                     .severity = EVIDENCE_BROKEN,
                                     .what = "an NVLink is not active any more",
                                     .action = FABRIC };
    char                    link[EVIDENCE_DEVICE_SIZE], text[WORDS];
    int                     i;

    for (i = 0; before[GPU_LINKS] > 0 && now[GPU_LINKS] >= 0 && i < NVML_LINKS_MAX; i++) {
        if (((before[GPU_LINKS] & ~now[GPU_LINKS]) >> i & 1) == 0)
            continue;
        snprintf(link, sizeof link, "%.40s, link %d", device, i);
        snprintf(text, sizeof text, "%s: was active, is not active now", link);
        add(&down, link, text, to);
    }
}

/* What was slow from the beginning may be how the machine was built. */
static void see_pcie(const int64_t *first, const int64_t *before, const int64_t *now,
                     const char *device, const struct changes *to)
{
    static const struct row width = { .kind = "pcie width",
                                      .severity = EVIDENCE_ERROR,
                                      .what = "a GPU's PCIe link has fewer lanes than before",
                                      .action = SLOT };
    static const struct row most = { .kind = "pcie slow",
                                     .severity = EVIDENCE_NOTICE,
                                     .what = "a GPU's PCIe link is slower than it could be",
                                     .action = NOTHING };
    char                    text[WORDS];

    snprintf(text, sizeof text,
             "%s: generation %" PRId64 " of %" PRId64 ", %" PRId64 " lanes of %" PRId64, device,
             now[GPU_PCIE_SPEED], now[GPU_PCIE_SPEED_MOST], now[GPU_PCIE_LANES],
             now[GPU_PCIE_LANES_MOST]);
    if (is_narrow(first, now)) {
        if (!is_narrow(first, before))
            add(&width, device, text, to);
    } else if (is_below_most(now) && !is_below_most(before)) {
        add(&most, device, text, to);
    }
}

static bool is_narrow(const int64_t *usual, const int64_t *gpu)
{
    return gpu[GPU_BUSY] >= BUSY && gpu[GPU_PCIE_LANES] > 0 &&
           gpu[GPU_PCIE_LANES] < usual[GPU_PCIE_LANES];
}

static bool is_below_most(const int64_t *gpu)
{
    return gpu[GPU_BUSY] >= BUSY && gpu[GPU_PCIE_LANES] > 0 && gpu[GPU_PCIE_SPEED] > 0 &&
           (gpu[GPU_PCIE_LANES] < gpu[GPU_PCIE_LANES_MOST] ||
            gpu[GPU_PCIE_SPEED] < gpu[GPU_PCIE_SPEED_MOST]);
}

static void see_port(const struct sample_port *before, const struct sample_port *now,
                     const struct changes *to)
{
    static const struct row down = { .kind = "link",
                                     .severity = EVIDENCE_ERROR,
                                     .what = "a network link went down",
                                     .action = CABLE };
    const int64_t downs = now->value[PORT_DOWNS] - before->value[PORT_DOWNS];
    char          text[WORDS];

    see_rows(port_rows, COUNT(port_rows), before->value, now->value, now->name, to);
    if (before->value[PORT_STATE] != PORT_ACTIVE || now->value[PORT_STATE] < 0 ||
        now->value[PORT_STATE] == PORT_ACTIVE ||
        (before->value[PORT_DOWNS] >= 0 && downs > 0))
        return;
    snprintf(text, sizeof text, "%s: state %d, now %" PRId64, now->name, PORT_ACTIVE,
             now->value[PORT_STATE]);
    add(&down, now->name, text, to);
}

/* A counter that is lower than before was set back. */
static void see_rows(const struct row *row, size_t rows, const int64_t *before,
                     const int64_t *now, const char *device, const struct changes *to)
{
    char text[WORDS];

    for (; rows-- > 0; row++) {
        if (before[row->value] < 0 || now[row->value] - before[row->value] < row->least)
            continue;
        snprintf(text, sizeof text, "%s: %s: %" PRId64 ", now %" PRId64, device, row->counter,
                 before[row->value], now[row->value]);
        add(row, device, text, to);
    }
}

static void add(const struct row *row, const char *device, const char *text,
                const struct changes *to)
{
    struct evidence evidence = { .severity = row->severity, .action = row->action };

    snprintf(evidence.kind, sizeof evidence.kind, "%s", row->kind);
    snprintf(evidence.what, sizeof evidence.what, "%s", row->what);
    snprintf(evidence.device, sizeof evidence.device, "%s", device);
    to->add(&evidence, text, to->arg);
}
