/* xid.c - see xid.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "evidence/xid.h"

#include <string.h>

#define REBOOT "reboot the node; if it happens again, have the GPU replaced"
#define RESET "reset the GPU (nvidia-smi --gpu-reset), or reboot the node"
#define LINK "reset the GPUs, or reboot the node; if it happens again, have the NVLink checked"
#define REPLACE "ask the vendor of the GPU for help, or for another one"
#define PROGRAM "look for the fault in the program first (compute-sanitizer)"
#define MEMORY "start the program again; if it happens again, have the GPU replaced"

/* By number. Others are a program's fault or unknown: see xid_of(). */
static const struct xid xids[] = {
    { 13, EVIDENCE_PROGRAM, "graphics engine exception", PROGRAM },
    { 31, EVIDENCE_PROGRAM, "memory page fault", PROGRAM },
    { 43, EVIDENCE_PROGRAM, "a program's channel was reset", PROGRAM },
    { 45, EVIDENCE_PROGRAM, "a program's channels were removed", "look at the Xid before it" },
    { 46, EVIDENCE_BROKEN, "stopped processing", RESET },
    { 48, EVIDENCE_BROKEN, "uncorrectable memory error", RESET },
    { 54, EVIDENCE_BROKEN, "its auxiliary power is not connected", "check its power cables" },
    { 61, EVIDENCE_BROKEN, "its microcontroller has stopped", RESET },
    { 62, EVIDENCE_BROKEN, "its microcontroller has halted", RESET },
    { 63, EVIDENCE_NOTICE, "a row of its memory will be remapped",
      "reset the GPU when it is idle, so that this happens" },
    { 64, EVIDENCE_BROKEN, "a bad row of its memory could not be remapped", RESET },
    { 66, EVIDENCE_PROGRAM, "illegal access by the driver", "update the driver" },
    { 67, EVIDENCE_PROGRAM, "illegal access by the driver", "update the driver" },
    { 74, EVIDENCE_BROKEN, "NVLink error", LINK },
    { 78, EVIDENCE_ERROR, "a vGPU did not start", "update the driver" },
    { 79, EVIDENCE_BROKEN, "has fallen off the bus", REBOOT },
    { 92, EVIDENCE_ERROR, "many corrected memory errors", REPLACE },
    { 93, EVIDENCE_NOTICE, "its InfoROM is worn", "" },
    { 94, EVIDENCE_ERROR, "contained memory error", MEMORY },
    { 95, EVIDENCE_BROKEN, "uncontained memory error", RESET },
    { 106, EVIDENCE_NOTICE, "test message", "" },
    { 107, EVIDENCE_NOTICE, "test message", "" },
    { 109, EVIDENCE_BROKEN, "context switch timed out", RESET },
    { 110, EVIDENCE_BROKEN, "security fault", RESET },
    { 119, EVIDENCE_BROKEN, "its system processor does not answer", RESET },
    { 120, EVIDENCE_BROKEN, "error of its system processor", RESET },
    { 121, EVIDENCE_ERROR, "error of the link to its CPU", REPLACE },
    { 122, EVIDENCE_BROKEN, "its flash memory cannot be read", REPLACE },
    { 123, EVIDENCE_BROKEN, "its flash memory cannot be written", REPLACE },
    { 124, EVIDENCE_BROKEN, "its flash memory cannot be erased", REPLACE },
    { 125, EVIDENCE_BROKEN, "error of its InfoROM", REPLACE },
    { 136, EVIDENCE_BROKEN, "an NVLink could not be trained", LINK },
    { 137, EVIDENCE_PROGRAM, "NVLink privilege error", PROGRAM },
    { 140, EVIDENCE_BROKEN, "unrecovered memory error", RESET },
    { 143, EVIDENCE_BROKEN, "could not be initialized", RESET },
    { 144, EVIDENCE_BROKEN, "NVLink error (SAW)", LINK },
    { 145, EVIDENCE_BROKEN, "NVLink error (RLW)", LINK },
    { 146, EVIDENCE_BROKEN, "NVLink error (TLW)", LINK },
    { 147, EVIDENCE_BROKEN, "NVLink error (TREX)", LINK },
    { 148, EVIDENCE_BROKEN, "NVLink error (NVLPW)", LINK },
    { 149, EVIDENCE_BROKEN, "NVLink error (NETIR)", LINK },
    { 150, EVIDENCE_BROKEN, "NVLink error (MSE)", LINK },
    { 151, EVIDENCE_BROKEN, "keys could not be exchanged", "start the virtual machine again" },
    { 155, EVIDENCE_BROKEN, "NVLink error of the driver", LINK },
    { 156, EVIDENCE_BROKEN, "a part of it was retired", RESET },
    { 157, EVIDENCE_BROKEN, "a part of it could not be retired", REPLACE },
    { 158, EVIDENCE_BROKEN, "fatal timeout", RESET },
    { 167, EVIDENCE_BROKEN, "fatal timeout on PCIe", REBOOT },
    { 168, EVIDENCE_ERROR, "it has less memory than before", REPLACE },
    { 169, EVIDENCE_BROKEN, "its security processor has halted", RESET },
    { 171, EVIDENCE_BROKEN, "uncorrectable error of its DRAM", RESET },
    { 172, EVIDENCE_BROKEN, "uncorrectable error of its SRAM", RESET },
};

/* Exceptions of engines that run what a program asks for (RESTART_APP and IGNORE), up to the
 * last number of the catalog; numbers from there on are not known. */
static const struct xid engine = { 0, EVIDENCE_PROGRAM, "exception", PROGRAM };
static const struct xid unknown = { 0, EVIDENCE_ERROR, "not known to muster",
                                    "look it up in NVIDIA's Xid catalog" };
#define KNOWN_MAX 172

const struct xid *xid_of(long number)
{
    size_t i;

    for (i = 0; i < sizeof xids / sizeof *xids; i++)
        if (xids[i].number == number)
            return &xids[i];
    return number <= KNOWN_MAX ? &engine : &unknown;
}

/* "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
const struct xid *xid_of_recovery(const char *text)
{
    static const struct xid reboot = { 154, EVIDENCE_BROKEN, "the driver asks for a reboot",
                                       REBOOT };
    static const struct xid reset = { 154, EVIDENCE_BROKEN, "the driver asks for a reset",
                                      RESET };
    static const struct xid other = { 154, EVIDENCE_NOTICE, "the driver's advice changed", "" };
    const char             *to = strstr(text, ") to 0x");

    if (to != NULL && strstr(to, "Reboot") != NULL)
        return &reboot;
    return to != NULL && strstr(to, "Reset") != NULL ? &reset : &other;
}
