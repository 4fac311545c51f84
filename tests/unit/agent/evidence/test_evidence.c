/* test_evidence.c - what the kernel's messages say of hardware and storage
 *
 * The messages are those of Linux 4.18 to 6.12 and of NVIDIA's driver.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/xid.h"

struct expected {
    const char *text, *kind, *device;
    char        severity; /* the first letter; 0: it says nothing */
};

static void compare(const struct expected *row, size_t count)
{
    struct evidence evidence;
    size_t          i;

    for (i = 0; i < count; i++) {
        if (!evidence_read(row[i].text, &evidence)) {
            if (row[i].severity != 0)
                fail_msg("nothing: %s", row[i].text);
            continue;
        }
        if (row[i].severity != *evidence_severity_name(evidence.severity) ||
            strcmp(row[i].kind, evidence.kind) != 0 ||
            strcmp(row[i].device, evidence.device) != 0)
            fail_msg("%s: %s, '%s', '%s'", row[i].text,
                     evidence_severity_name(evidence.severity), evidence.kind, evidence.device);
        assert_true(strlen(evidence.what) > 0);
        assert_non_null(evidence.action);
        if (evidence.severity >= EVIDENCE_ERROR)
            assert_true(strlen(evidence.action) > 0);
    }
}

static const struct expected rows_of_gpus[] = {
    { "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
      "the "
      "bus.",
      "xid 79", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (0000:01:00): 79, GPU has fallen off the bus.", "xid 79", "GPU 0000:01:00.0",
      'b' },
    { "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", "xid 79", "GPU 0000:3b:00.0",
      'b' },
    { "NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.", "xid 79", "GPU 0000:3b:00.0",
      'b' },
    { "NVRM: The NVIDIA GPU 0000:0a:00.0 (PCI ID: 10de:20b2) installed in this system has "
      "fallen off the bus and is not responding to commands.",
      "gpu lost", "", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 48, pid=1896, An uncorrectable double bit error (DBE) "
      "has "
      "been detected on GPU in the framebuffer at partition 6, subpartition 0.",
      "xid 48", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for "
      "remapping, "
      "reset gpu to activate.",
      "xid 63", "GPU 0000:10:1c.0", 'n' },
    { "NVRM: Xid (PCI:0000:0f:00): 64, pid=57530, Row Remapper Error: (0x00000005d28c03a0) "
      "- "
      "All reserved rows for bank are remapped",
      "xid 64", "GPU 0000:0f:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp "
      "Exception on (GPC 7, TPC 0, SM 0): Out Of Range Address",
      "xid 13", "GPU 0000:cb:00.0", 'p' },
    { "NVRM: Xid (PCI:0000:01:00): 31, pid=5, name=python3, Ch 0000000b, intr 10000000",
      "xid 31", "GPU 0000:01:00.0", 'p' },
    { "NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000005 intr 00008000", "xid 32",
      "GPU 0000:01:00.0", 'p' },
    { "NVRM: Xid (PCI:0000:3b:00): 74, pid=7, NVLink: fatal error detected on link 2", "xid 74",
      "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 94, pid=7, Contained: SM (0x1)", "xid 94",
      "GPU 0000:3b:00.0", 'e' },
    { "NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained", "xid 95", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 119, pid=7, Timeout after 6s of waiting for RPC "
      "response "
      "from GPU0 GSP!",
      "xid 119", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
      "(Node Reboot Required)",
      "xid 154", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
      "(GPU Reset Required)",
      "xid 154", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
      "Required) to 0x0 (None)",
      "xid 154", "GPU 0000:3b:00.0", 'n' },
    { "NVRM: Xid (PCI:0000:3b:00): 154", "xid 154", "GPU 0000:3b:00.0", 'n' },
    { "NVRM: Xid (PCI:0000:3b:00): 79", "xid 79", "GPU 0000:3b:00.0", 'b' },
    { "NVRM: Xid (PCI:0): 48, DBE", "xid 48", "", 'b' },
    { "NVRM: Xid (PCI:0000:3b:00): 999, new", "xid 999", "GPU 0000:3b:00.0", 'e' },
    { "NVRM: Xid (PCI:0000:3b:00): 9999999999", "", "", 0 },
    { "NVRM: Xid (PCI:0000:3b:00): -4", "", "", 0 },
    { "NVRM: Xid (PCI:0000:3b:00): ", "", "", 0 },
    { "NVRM: Xid (", "", "", 0 },
    { "NVRM: Xid", "", "", 0 },
    { "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14", "", "", 0 },
    { "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 24 LTSSM Fault Up",
      "sxid 20034", "NVSwitch 0000:c5:00.0", 'b' },
    { "nvidia-nvswitch4: SXid (PCI:0000:c6:00.0): 19084, Non-fatal, Link 29 AN1 Heartbeat "
      "Timeout Error (First)",
      "sxid 19084", "NVSwitch 0000:c6:00.0", 'n' },
    { "nvidia-nvswitch2: SXid (PCI:0000:c4:00.0): 10002, Severity 5 Engine instance 00 "
      "Sub-engine instance 00",
      "", "", 0 },
    { "NVRM: knvlinkCheckNvswitchP2pConfig_IMPL: nvlink training failed", "nvlink", "", 'e' },
};

static void gpus(void **state)
{
    (void)state;
    compare(rows_of_gpus, sizeof rows_of_gpus / sizeof *rows_of_gpus);
}

static const struct expected rows_of_buses_and_networks[] = {
    { "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
      "Layer, (Requester ID)",
      "pcie", "0000:3b:00.0", 'b' },
    { "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=x", "pcie",
      "0000:3b:00.0", 'b' },
    { "pcieport 0000:00:03.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=x", "pcie",
      "0000:00:03.0", 'e' },
    { "pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
      "(Receiver ID)",
      "pcie corrected", "0000:00:03.0", 'n' },
    { "pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", "pcie",
      "0000:3b:00.0", 'b' },
    { "pcieport 0000:00:03.0: AER: Multiple Uncorrectable (Non-Fatal) error message "
      "received "
      "from 0000:3b:00.0",
      "pcie", "0000:3b:00.0", 'e' },
    { "pcieport 0000:00:03.0: AER: Corrected error received: 0000:3b:00.0", "pcie corrected",
      "0000:3b:00.0", 'n' },
    { "pcieport 0000:00:03.0: AER: enabled with IRQ 26", "", "", 0 },
    { "pcieport 0000:16:01.0: pciehp: Slot(3): Link Down", "pcie link", "0000:16:01.0", 'e' },
    { "pcieport 0000:16:01.0: pciehp: Slot(3): Card not present", "pcie link", "0000:16:01.0",
      'e' },
    { "pcieport 0000:16:01.0: pciehp: Slot(3): Link Up", "", "", 0 },
    { "pci 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 "
      "link "
      "at 0000:00:01.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
      "pcie width", "0000:3b:00.0", 'e' },
    { "mlx5_core 0000:17:00.0 enp23s0f0np0: Link down", "link", "enp23s0f0np0", 'e' },
    { "mlx5_core 0000:17:00.0 enp23s0f0np0: Link up", "link up", "enp23s0f0np0", 'n' },
    { "mlx5_core 0000:17:00.0: Port module event[error]: module 0, Cable error, Bus stuck "
      "(I2C or data shorted)",
      "link", "0000:17:00.0", 'e' },
    { "mlx5_core 0000:17:00.0: Port module event: module 0, Cable unplugged", "link",
      "0000:17:00.0", 'e' },
    { "mlx5_core 0000:17:00.0: Port module event: module 0, Cable plugged", "", "", 0 },
    { "mlx5_core 0000:17:00.0: poll_health:800:(pid 0): Fatal error 1 detected", "adapter",
      "0000:17:00.0", 'b' },
    { "mlx5_core 0000:17:00.0: poll_health:820:(pid 0): device's health compromised - "
      "reached "
      "miss count",
      "adapter", "0000:17:00.0", 'b' },
    { "mlx5_core 0000:17:00.0: wait_func:1008:(pid 5): ACCESS_REG(0x805) timeout. Will "
      "cause a "
      "leak of a command resource",
      "adapter", "0000:17:00.0", 'b' },
    { "bnxt_en 0000:17:00.0 eth0: NIC Link is Down", "link", "eth0", 'e' },
    { "ice 0000:17:00.0 ens1: NIC Link is Up 100 Gbps Full Duplex", "link up", "ens1", 'n' },
    { "IPv6: ADDRCONF(NETDEV_UP): ib0: link is not ready", "link", "", 'e' },
    { "IPv6: ADDRCONF(NETDEV_UP): veth7: link is not ready", "", "", 0 },
    { "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready", "", "", 0 },
};

static void buses_and_networks(void **state)
{
    (void)state;
    compare(rows_of_buses_and_networks,
            sizeof rows_of_buses_and_networks / sizeof *rows_of_buses_and_networks);
}

static const struct expected rows_of_storage[] = {
    { "nfs: server filer1 not responding, still trying", "nfs", "filer1", 'e' },
    { "nfs: server 10.0.0.9 not responding, timed out", "nfs", "10.0.0.9", 'e' },
    { "nfs: server filer1 OK", "nfs ok", "filer1", 'n' },
    { "nfs: server filer1 is new", "", "", 0 },
    { "LustreError: 11-0: lustre-OST0001-osc-ffff9d1f: operation ost_read to node "
      "10.0.0.1@o2ib "
      "failed: rc = -107",
      "lustre error", "", 'e' },
    { "LNetError: 1234:0:(o2iblnd_cb.c:3311:kiblnd_check_txs_locked()) Timed out tx",
      "lnet error", "", 'e' },
    { "Lustre: lustre-OST0003-osc-ffff9d1f: Connection to lustre-OST0003 (at "
      "10.0.0.7@o2ib) was "
      "lost; in progress operations using this service will wait for recovery to complete",
      "lustre", "lustre-OST0003", 'e' },
    { "Lustre: lustre-OST0003-osc-ffff9d1f: Connection restored to lustre-OST0003 (at "
      "10.0.0.7@o2ib)",
      "lustre ok", "lustre-OST0003", 'n' },
    { "Lustre: Mounted lustre-client", "", "", 0 },
    { "I/O error, dev nvme0n1, sector 123 op 0x0:(READ) flags 0x80700 phys_seg 1 prio "
      "class 2",
      "disk", "nvme0n1", 'b' },
    { "blk_update_request: I/O error, dev sda, sector 123 op 0x0:(READ)", "disk", "sda", 'b' },
    { "print_req_error: I/O error, dev sda, sector 123", "disk", "sda", 'b' },
    { "critical medium error, dev sda, sector 123 op 0x0:(READ) flags 0x0", "disk", "sda",
      'b' },
    { "blk_update_request: critical medium error, dev sda, sector 123", "disk", "sda", 'b' },
    { "blk_update_request: I/O error, dev loop3, sector 0", "disk", "loop3", 'n' },
    { "I/O error, dev sr0, sector 0 op 0x0:(READ)", "drive", "", 'n' },
    { "I/O error, dev fd0, sector 0", "drive", "", 'n' },
    { "Buffer I/O error on dev dm-0, logical block 0, lost async page write", "disk", "dm-0",
      'b' },
    { "Buffer I/O error on dev loop7, logical block 0, async page read", "disk", "loop7", 'n' },
    { "nvme nvme0: I/O 123 QID 4 timeout, reset controller", "disk", "nvme0", 'b' },
    { "nvme nvme0: I/O tag 1 (1001) opcode 0x2 (I/O Cmd) QID 1 timeout, reset controller",
      "disk", "nvme0", 'b' },
    { "nvme nvme0: I/O 123 QID 4 timeout, aborting", "disk slow", "nvme0", 'e' },
    { "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "disk",
      "nvme0", 'b' },
    { "nvme nvme0: 16/0/0 default/read/poll queues", "", "", 0 },
    { "md/raid1:md0: Disk failure on sdb1, disabling device.", "disk", "md0", 'b' },
    { "EXT4-fs error (device nvme0n1p1): ext4_find_entry:1455: inode #2: comm ls: reading "
      "directory lblock 0",
      "file system", "nvme0n1p1", 'b' },
    { "EXT4-fs error (device loop3): ext4_lookup:1: inode #2: comm ls", "file system", "loop3",
      'n' },
    { "EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode", "", "", 0 },
    { "XFS (nvme0n1p1): metadata I/O error in \"xfs_buf_ioend+0x1\" at daddr 0x2 len 32 "
      "error 5",
      "file system", "nvme0n1p1", 'b' },
    { "XFS (dm-0): Filesystem has been shut down due to log error (0x2).", "file system",
      "dm-0", 'b' },
    { "XFS (dm-0): Corruption of in-memory data detected.  Shutting down filesystem",
      "file system", "dm-0", 'b' },
    { "XFS (dm-0): Mounting V5 Filesystem", "", "", 0 },
    { "XFS (loop0): Corruption detected. Unmount and run xfs_repair", "file system", "loop0",
      'n' },
    { "BTRFS error (device sda1): bdev /dev/sda1 errs: wr 0, rd 1", "file system", "sda1",
      'b' },
    { "BTRFS error (device sda1 state EA): x", "file system", "sda1", 'b' },
};

static void storage(void **state)
{
    (void)state;
    compare(rows_of_storage, sizeof rows_of_storage / sizeof *rows_of_storage);
}

static const struct expected rows_of_memory_and_kernel[] = {
    { "Out of memory: Killed process 1234 (python3) total-vm:1kB, anon-rss:1kB, UID:0", "oom",
      "python3, pid 1234", 'e' },
    { "Out of memory: Kill process 1234 (python3) score 900 or sacrifice child", "oom",
      "python3, pid 1234", 'e' },
    { "Memory cgroup out of memory: Killed process 4194303 (a (b) c) total-vm:1kB",
      "oom cgroup", "a (b, pid 4194303", 'e' },
    { "oom_reaper: reaped process 1234 (python3), now anon-rss:0kB", "", "", 0 },
    { "python3 invoked oom-killer: gfp_mask=0x1, order=0, oom_score_adj=0", "", "", 0 },
    { "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "memory", "MC0",
      'b' },
    { "EDAC MC1: 3 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "memory corrected",
      "MC1", 'n' },
    { "EDAC skx MC0: HANDLING MCE MEMORY ERROR", "", "", 0 },
    { "Memory failure: 0x1f4: Killing python3:123 due to hardware memory corruption", "memory",
      "", 'b' },
    { "MCE: Killing python3:123 due to hardware memory corruption fault at 7f00", "memory", "",
      'b' },
    { "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be000000",
      "machine check", "", 'b' },
    { "mce: [Hardware Error]: Machine check events logged", "machine check", "", 'n' },
    { "{1}[Hardware Error]: event severity: fatal", "hardware", "", 'b' },
    { "{12}[Hardware Error]: event severity: recoverable", "hardware", "", 'e' },
    { "{1}[Hardware Error]: event severity: corrected", "hardware corrected", "", 'n' },
    { "mce: CPU12: Core temperature is above threshold, cpu clock throttled (total events "
      "= 1)",
      "thermal", "", 'n' },
    { "CPU3: Package temperature above threshold, cpu clock throttled (total events = 9)",
      "thermal", "", 'n' },
    { "INFO: task python3:12345 blocked for more than 120 seconds.", "hung task", "python3",
      'e' },
    { "INFO: task kworker/u8:3:42 blocked for more than 241 seconds.", "hung task",
      "kworker/u8:3", 'e' },
    { "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:1234]", "lockup", "", 'e' },
    { "NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:1234]", "lockup", "",
      'e' },
    { "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "lockup", "", 'b' },
    { "watchdog: Watchdog detected hard LOCKUP on cpu 3", "lockup", "", 'b' },
    { "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", "lockup", "", 'e' },
    { "rcu: INFO: rcu_sched self-detected stall on CPU", "lockup", "", 'e' },
    { "BUG: unable to handle page fault for address: ffff", "kernel", "", 'b' },
    { "kernel BUG at fs/ext4/inode.c:2721!", "kernel", "", 'b' },
    { "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable "
      "because "
      "the skew is too large:",
      "clock", "tsc", 'e' },
    { "tsc: Marking TSC unstable due to check_tsc_sync_source failed", "clock", "", 'e' },
    /* What programs can write there. */
    { "python3[7]: segfault at 0 ip 00007f sp 00007f error 4 in NVRM: Xid "
      "(PCI:0000:3b:00): 79",
      "", "", 0 },
    { "NVRM: Xid (PCI:[7]: segfault at 0 ip 00007f sp 00007f error 4 in x[55+1]", "", "", 0 },
    { "a 0000:3b:00.0:[7]: segfault at 0 in x: PCIe Bus Error: severity=Uncorrected "
      "(Fatal)",
      "", "", 0 },
    { "", "", "", 0 },
    { " SUBSYSTEM=pci", "", "", 0 },
    { "\xff\xfe\x01%s%n", "", "", 0 },
};

static void memory_and_kernel(void **state)
{
    (void)state;
    compare(rows_of_memory_and_kernel,
            sizeof rows_of_memory_and_kernel / sizeof *rows_of_memory_and_kernel);
}

static void words_are_for_people(void **state)
{
    struct evidence evidence;

    (void)state;
    assert_true(evidence_read("NVRM: Xid (PCI:0000:3b:00): 79, x", &evidence));
    assert_string_equal(evidence.what, "Xid 79, has fallen off the bus");
    assert_memory_equal(evidence.action, "reboot the node", 15);
    assert_true(evidence.is_gpu);
    assert_true(evidence_read("Out of memory: Killed process 1234 (python3) x", &evidence));
    assert_int_equal(evidence.pid, 1234);
    assert_false(evidence.is_gpu);
    /* A process may have any name. */
    assert_true(evidence_read("INFO: task \x1b[31m\xc3:7 blocked for more than 120 seconds.",
                              &evidence));
    assert_string_equal(evidence.device, "?[31m?");
    assert_int_equal(xid_of(79)->severity, EVIDENCE_BROKEN);
    assert_int_equal(xid_of(0)->severity, EVIDENCE_PROGRAM);
    assert_int_equal(xid_of(173)->severity, EVIDENCE_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus),
        cmocka_unit_test(buses_and_networks),
        cmocka_unit_test(storage),
        cmocka_unit_test(memory_and_kernel),
        cmocka_unit_test(words_are_for_people),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
