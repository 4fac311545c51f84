/* evidence.c - see evidence.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/evidence.h"

#include <stdio.h>
#include <string.h>

#include "evidence/pattern.h"
#include "evidence/xid.h"

#define SLOT "have the slot, the card and its cables checked"
#define FABRIC "reset the GPUs with their NVSwitches, or reboot the node"
#define CABLE "check the cable and the switch"
#define SERVER "check the file server and the network to it"
#define DISK "have the disk replaced"
#define CHECK "check the file system (fsck, xfs_repair), and the disk"
#define DIMM "have the memory replaced"
#define CPU "reboot the node; if it happens again, have it repaired"
#define WAITS "look for a file server or a disk that does not answer"
#define MEMORY "use less memory, or a node with more"
#define CLOCK "reboot the node; the times of its ranks are not reliable"
#define NOTHING ""

#define NOTICE EVIDENCE_NOTICE
#define ERROR EVIDENCE_ERROR
#define BROKEN EVIDENCE_BROKEN

/* What the number or numbers of a message are. */
enum row_rule { ORDINARY, XID, SXID, PROCESS, ECHO };

/* The first row that fits counts. */
static const struct row {
    const char            *pattern; /* pattern.h */
    const char            *kind;
    enum evidence_severity severity;
    const char            *what, *action;
    enum row_rule          rule;
} rows[] = {
    /* NVIDIA's driver. */
    { "NVRM: Xid (@): #*", "xid", ERROR, "Xid", NOTHING, XID },
    { "NVRM: GPU %: GPU has fallen off the bus*", "xid", BROKEN, "Xid", NOTHING, ECHO },
    { "NVRM: GPU at PCI:%: GPU has fallen off the bus*", "xid", BROKEN, "Xid", NOTHING, ECHO },
    { "NVRM: *fallen off the bus and is not responding*", "gpu lost", BROKEN,
      "a GPU has fallen off the bus", CPU, ORDINARY },
    { "nvidia-nvswitch#: SXid (@): #, Fatal*", "sxid", BROKEN, "SXid", FABRIC, SXID },
    { "nvidia-nvswitch#: SXid (@): #, Non-fatal*", "sxid", NOTICE, "SXid", NOTHING, SXID },
    { "NVRM: *NVLink*atal error*", "nvlink", BROKEN, "fatal NVLink error", FABRIC, ORDINARY },
    { "NVRM: *nvlink*ailed*", "nvlink", ERROR, "an NVLink failed", FABRIC, ORDINARY },
    { "nvidia-nvlink: *rror*", "nvlink", ERROR, "NVLink error", FABRIC, ORDINARY },

    /* PCIe, as Linux 4 to 6.12 word it, and later ones. */
    { "~ %: PCIe Bus Error: severity=Uncorrect* (Fatal)*", "pcie", BROKEN, "fatal PCIe error",
      SLOT, ORDINARY },
    { "~ %: PCIe Bus Error: severity=Uncorrect*", "pcie", ERROR, "uncorrected PCIe error", SLOT,
      ORDINARY },
    { "~ %: PCIe Bus Error: severity=Correct*", "pcie corrected", NOTICE,
      "corrected PCIe errors", NOTHING, ORDINARY },
    { "~ %: AER: *Uncorrect* (Fatal) error * %*", "pcie", BROKEN, "fatal PCIe error", SLOT,
      ECHO },
    { "~ %: AER: *Uncorrect* (Non-Fatal) error * %*", "pcie", ERROR, "uncorrected PCIe error",
      SLOT, ECHO },
    { "~ %: AER: *Correct* error * %*", "pcie corrected", NOTICE, "corrected PCIe errors",
      NOTHING, ECHO },
    { "pcieport %: *Slot(*): Link Down*", "pcie link", ERROR, "a PCIe link went down", SLOT,
      ORDINARY },
    { "pcieport %: *Slot(*): Card not present*", "pcie link", ERROR, "a PCIe card is gone",
      SLOT, ORDINARY },
    { "pci %: *available PCIe bandwidth, limited by*", "pcie width", ERROR,
      "a PCIe link is slower than its device", SLOT, ORDINARY },

    /* Network adapters. */
    { "mlx5_core % @: Link down*", "link", ERROR, "a network link went down", CABLE, ORDINARY },
    { "mlx5_core % @: Link up*", "link up", NOTICE, "a network link is up", NOTHING, ORDINARY },
    { "mlx5_core %: Port module event[error]*", "link", ERROR,
      "error of a cable or transceiver", CABLE, ORDINARY },
    { "mlx5_core %: Port module event: *Cable unplugged*", "link", ERROR,
      "a cable was unplugged", CABLE, ORDINARY },
    { "mlx5_core %: *Fatal error * detected*", "adapter", BROKEN, "a network adapter failed",
      CPU, ORDINARY },
    { "mlx5_core %: *health compromised*", "adapter", BROKEN, "a network adapter failed", CPU,
      ORDINARY },
    { "mlx5_core %: *timeout. Will cause a leak of a command resource*", "adapter", BROKEN,
      "a network adapter does not answer", CPU, ORDINARY },
    { "~ % @: NIC Link is Down*", "link", ERROR, "a network link went down", CABLE, ORDINARY },
    { "~ % @: NIC Link is Up*", "link up", NOTICE, "a network link is up", NOTHING, ORDINARY },
    { "IPv6: ADDRCONF(NETDEV_UP): ib#: link is not ready*", "link", ERROR,
      "an InfiniBand link is not ready", CABLE, ORDINARY },
    { "ib#: link is not ready*", "link", ERROR, "an InfiniBand link is not ready", CABLE,
      ORDINARY },

    /* File servers. */
    { "nfs: server @ not responding*", "nfs", ERROR, "an NFS server does not answer", SERVER,
      ORDINARY },
    { "nfs: server @ OK", "nfs ok", NOTICE, "an NFS server answers again", NOTHING, ORDINARY },
    { "Lustre: *: Connection to @ (at *) was lost*", "lustre", ERROR,
      "the connection to a Lustre server was lost", SERVER, ORDINARY },
    { "Lustre: *: Connection restored to @ (at *", "lustre ok", NOTICE,
      "a Lustre server answers again", NOTHING, ORDINARY },
    { "LustreError: *", "lustre error", ERROR, "error of Lustre", SERVER, ORDINARY },
    { "LNetError: *", "lnet error", ERROR, "error of Lustre's network", SERVER, ORDINARY },
    { "ceph: *mds# hung", "ceph", ERROR, "a Ceph server does not answer", SERVER, ORDINARY },

    /* Disks and file systems. A drive of discs breaks no node. */
    { "*I/O error, dev sr#, *", "drive", NOTICE, "a disc cannot be read", NOTHING, ORDINARY },
    { "*I/O error, dev fd#, *", "drive", NOTICE, "a disc cannot be read", NOTHING, ORDINARY },
    { "I/O error, dev @, sector *", "disk", BROKEN, "a disk cannot be read or written", DISK,
      ORDINARY },
    { "blk_update_request: I/O error, dev @, sector *", "disk", BROKEN,
      "a disk cannot be read or written", DISK, ORDINARY },
    { "print_req_error: I/O error, dev @, sector *", "disk", BROKEN,
      "a disk cannot be read or written", DISK, ORDINARY },
    { "critical medium error, dev @, sector *", "disk", BROKEN, "a disk has a bad sector", DISK,
      ORDINARY },
    { "blk_update_request: critical medium error, dev @, sector *", "disk", BROKEN,
      "a disk has a bad sector", DISK, ORDINARY },
    { "Buffer I/O error on dev @, logical block *", "disk", BROKEN,
      "a disk cannot be read or written", DISK, ECHO },
    { "nvme @: *timeout, reset controller*", "disk", BROKEN, "a disk does not answer", DISK,
      ORDINARY },
    { "nvme @: *timeout, disable controller*", "disk", BROKEN, "a disk does not answer", DISK,
      ORDINARY },
    { "nvme @: controller is down*", "disk", BROKEN, "a disk is gone", DISK, ORDINARY },
    { "nvme @: *timeout, aborting*", "disk slow", ERROR, "a disk is late", DISK, ORDINARY },
    { "md/raid*:@: Disk failure on *", "disk", BROKEN, "a disk of a RAID failed", DISK,
      ORDINARY },
    { "EXT4-fs error (device @): *", "file system", BROKEN, "a file system is damaged", CHECK,
      ORDINARY },
    { "XFS (@): *metadata I/O error*", "file system", BROKEN,
      "a file system cannot use its disk", CHECK, ORDINARY },
    { "XFS (@): *ilesystem has been shut down*", "file system", BROKEN,
      "a file system was shut down", CHECK, ORDINARY },
    { "XFS (@): *hutting down filesystem*", "file system", BROKEN,
      "a file system was shut down", CHECK, ORDINARY },
    { "XFS (@): *orruption*", "file system", BROKEN, "a file system is damaged", CHECK,
      ORDINARY },
    { "BTRFS error (device @ state *", "file system", BROKEN, "error of a file system", CHECK,
      ORDINARY },
    { "BTRFS error (device @): *", "file system", BROKEN, "error of a file system", CHECK,
      ORDINARY },

    /* Memory and processors. */
    { "Out of memory: Kill* process # (@)*", "oom", ERROR,
      "the node ran out of memory, and the "
      "kernel ended a process",
      MEMORY, PROCESS },
    { "Memory cgroup out of memory: Kill* process # (@)*", "oom cgroup", ERROR,
      "a control group ran out of memory, and the kernel ended a process", MEMORY, PROCESS },
    { "EDAC @: * UE *", "memory", BROKEN, "uncorrected memory error", DIMM, ORDINARY },
    { "EDAC @: * CE *", "memory corrected", NOTICE, "corrected memory errors", NOTHING,
      ORDINARY },
    { "Memory failure: *: Killing *:# due to hardware memory corruption*", "memory", BROKEN,
      "uncorrected memory error", DIMM, ORDINARY },
    { "MCE: Killing *:# due to hardware memory corruption*", "memory", BROKEN,
      "uncorrected memory error", DIMM, ORDINARY },
    { "mce: [Hardware Error]: Machine check events logged*", "machine check", NOTICE,
      "corrected machine checks", NOTHING, ORDINARY },
    { "mce: [Hardware Error]: CPU #: Machine Check Exception: *", "machine check", BROKEN,
      "machine check", CPU, ORDINARY },
    { "{#}[Hardware Error]: event severity: fatal*", "hardware", BROKEN, "fatal hardware error",
      CPU, ORDINARY },
    { "{#}[Hardware Error]: event severity: recoverable*", "hardware", ERROR,
      "uncorrected hardware error", CPU, ORDINARY },
    { "{#}[Hardware Error]: event severity: corrected*", "hardware corrected", NOTICE,
      "corrected hardware errors", NOTHING, ORDINARY },
    { "mce: CPU#: *above threshold, cpu clock throttled*", "thermal", NOTICE,
      "a processor is too hot and runs slower", NOTHING, ORDINARY },
    { "CPU#: *above threshold, cpu clock throttled*", "thermal", NOTICE,
      "a processor is too hot and runs slower", NOTHING, ORDINARY },

    /* The kernel itself. */
    { "INFO: task @:# blocked for more than # seconds*", "hung task", ERROR,
      "a process waits in the kernel for minutes", WAITS, ORDINARY },
    { "watchdog: BUG: soft lockup - CPU*", "lockup", ERROR, "a processor was stuck", CPU,
      ORDINARY },
    { "NMI watchdog: BUG: soft lockup - CPU*", "lockup", ERROR, "a processor was stuck", CPU,
      ORDINARY },
    { "watchdog: Watchdog detected hard LOCKUP on cpu *", "lockup", BROKEN,
      "a processor was stuck", CPU, ORDINARY },
    { "NMI watchdog: Watchdog detected hard LOCKUP on cpu *", "lockup", BROKEN,
      "a processor was stuck", CPU, ORDINARY },
    { "rcu: INFO: *detected stall* on CPU*", "lockup", ERROR, "a processor was stuck", CPU,
      ORDINARY },
    { "BUG: unable to handle *", "kernel", BROKEN, "fault in the kernel", CPU, ORDINARY },
    { "kernel BUG at *", "kernel", BROKEN, "fault in the kernel", CPU, ORDINARY },
    { "clocksource: timekeeping watchdog *arking clocksource '@' as unstable*", "clock", ERROR,
      "the clock of the node is unstable", CLOCK, ORDINARY },
    { "tsc: Marking TSC unstable *", "clock", ERROR, "the clock of the node is unstable", CLOCK,
      ORDINARY },
};

static bool is_file(const struct evidence *evidence);
static void read_xid(struct evidence *evidence, const struct xid *xid, long number);
static void read_device(struct evidence *evidence, const struct pattern_match *match);
static void name_pci(struct evidence *evidence, const char *what);
static void name_process(struct evidence *evidence, long pid);

bool evidence_read(const char *text, struct evidence *evidence)
{
    struct pattern_match match;
    const struct row    *row = rows, *end = rows + sizeof rows / sizeof *rows;

    while (row < end && !pattern_fits(row->pattern, text, &match))
        row++;
    if (row == end)
        return false;
    *evidence = (struct evidence){ .severity = row->severity,
                                   .action = row->action,
                                   .is_echo = row->rule == ECHO };
    snprintf(evidence->kind, sizeof evidence->kind, "%s", row->kind);
    snprintf(evidence->what, sizeof evidence->what, "%s", row->what);
    read_device(evidence, &match);
    if (is_file(evidence))
        evidence->severity = EVIDENCE_NOTICE;
    if (row->rule == XID)
        read_xid(evidence,
                 match.number[0] == 154 ? xid_of_recovery(text) : xid_of(match.number[0]),
                 match.number[0]);
    else if (strcmp(row->kind, "xid") == 0)
        read_xid(evidence, xid_of(79), 79);
    else if (row->rule == SXID) {
        snprintf(evidence->kind, sizeof evidence->kind, "sxid %ld", match.number[1]);
        snprintf(evidence->what, sizeof evidence->what, "SXid %ld, error of an NVSwitch",
                 match.number[1]);
        name_pci(evidence, "NVSwitch");
    } else if (row->rule == PROCESS)
        name_process(evidence, match.number[0]);
    return true;
}

/* Is the device a file that a loop device makes a disk of? It breaks no node. */
static bool is_file(const struct evidence *evidence)
{
    return strncmp(evidence->device, "loop", 4) == 0 && evidence->device[4] >= '0' &&
           evidence->device[4] <= '9';
}

static void read_xid(struct evidence *evidence, const struct xid *xid, long number)
{
    evidence->severity = xid->severity;
    evidence->action = xid->action;
    evidence->is_gpu = true;
    snprintf(evidence->kind, sizeof evidence->kind, "xid %ld", number);
    snprintf(evidence->what, sizeof evidence->what, "Xid %ld, %s", number, xid->what);
    name_pci(evidence, "GPU");
}

/* Programs, and so devices, may have any name: only what a terminal shows stays. */
static void read_device(struct evidence *evidence, const struct pattern_match *match)
{
    size_t size = match->device_size, i;

    if (size >= sizeof evidence->device)
        size = sizeof evidence->device - 1;
    for (i = 0; i < size; i++) {
        char byte = match->device[i];

        evidence->device[i] = (char)(byte >= ' ' && byte <= '~' ? byte : '?');
    }
    evidence->device[size] = '\0';
}

/* The driver writes "PCI:0000:3b:00" and "0000:3b:00.0". */
static void name_pci(struct evidence *evidence, const char *what)
{
    const char *name = evidence->device;
    char        address[EVIDENCE_DEVICE_SIZE];
    size_t      size;

    name += strncmp(name, "PCI:", 4) == 0 ? 4 : 0;
    size = pattern_pci_size(name);
    snprintf(address, sizeof address, "%.*s", (int)size, name);
    if (size == 0)
        evidence->device[0] = '\0';
    else
        snprintf(evidence->device, sizeof evidence->device, "%s %.40s%s", what, address,
                 strchr(address, '.') == NULL ? ".0" : "");
}

static void name_process(struct evidence *evidence, long pid)
{
    char name[EVIDENCE_DEVICE_SIZE];

    memcpy(name, evidence->device, sizeof name);
    snprintf(evidence->device, sizeof evidence->device, "%.40s, pid %ld", name, pid);
    evidence->pid = pid;
}

const char *evidence_severity_name(enum evidence_severity severity)
{
    static const char *const names[] = { "notice", "program", "error", "broken" };

    return names[severity];
}
