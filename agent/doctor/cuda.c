/* cuda.c - can a program use the GPUs at all?
 *
 * Even if the driver is loaded and NVML works, cuInit() may fail, or never return. An
 * interpreter calls it, that of the ranks if there is one, since a static agent cannot load
 * NVIDIA's library together with every version of the C library.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"
#include "task/command.h"

#define ASK_S      7.0 /* less than the limit of a check, whose message would be less precise */
#define ASK_FULL_S 40.0
#define FABRIC     802 /* CUDA_ERROR_SYSTEM_NOT_READY */
#define MISMATCH   803 /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: see check "gpu driver" */

/* Prints "ERROR WHAT": an error code of CUDA and the call that returned it; 0: no error. With
 * an argument, it copies 1 MiB to each GPU and back. */
static const char ask[] =
    "import ctypes as c, os, sys\n"
    "os.environ.pop('CUDA_VISIBLE_DEVICES', None)\n"
    "try: cuda = c.CDLL('libcuda.so.1')\n"
    "except OSError as error: sys.exit(str(error))\n"
    "def must(error, what):\n"
    "    if error: print(error, what); sys.exit()\n"
    "must(cuda.cuInit(0), 'cuInit')\n"
    "if len(sys.argv) > 1:\n"
    "    count, size = c.c_int(), 1 << 20\n"
    "    must(cuda.cuDeviceGetCount(c.byref(count)), 'cuDeviceGetCount')\n"
    "    for gpu in range(count.value):\n"
    "        context, memory, on = c.c_void_p(), c.c_uint64(), ' on GPU %d' % gpu\n"
    "        data, back = os.urandom(size), c.create_string_buffer(size)\n"
    "        must(cuda.cuDevicePrimaryCtxRetain(c.byref(context), gpu),\n"
    "             'cuDevicePrimaryCtxRetain' + on)\n"
    "        must(cuda.cuCtxSetCurrent(context), 'cuCtxSetCurrent' + on)\n"
    "        must(cuda.cuMemAlloc_v2(c.byref(memory), c.c_size_t(size)), 'cuMemAlloc' + on)\n"
    "        must(cuda.cuMemcpyHtoD_v2(memory, data, c.c_size_t(size)), 'cuMemcpyHtoD' + on)\n"
    "        must(cuda.cuMemcpyDtoH_v2(back, memory, c.c_size_t(size)), 'cuMemcpyDtoH' + on)\n"
    "        must(int(back.raw != data), 'a comparison with what comes back' + on)\n"
    "print(0)\n";

static void tell(const struct checkup *checkup, const char *answer);

void cuda_check(const struct checkup *checkup)
{
    const char           *python = checkup_word(checkup, "python");
    const char *const     argv[] = { python != NULL ? python : "python3", "-c", ask,
                                     checkup->is_full ? "full" : NULL, NULL };
    double                limit_s = checkup->is_full ? ASK_FULL_S : ASK_S;
    struct command_result result;
    char                  why[256];

    if (gpu_count() == 0)
        return;
    if (command_run(argv, NULL, limit_s, &result)) {
        tell(checkup, result.out);
    } else if (result.timed_out) {
        checkup_find(checkup, CHECKUP_FAIL, "CUDA programs hang at their start",
                     "sudo dmesg | grep NVRM; sudo reboot",
                     "CUDA calls such as cuInit did not finish within %g s", limit_s);
    } else if (strstr(result.err, "libcuda") != NULL) {
        command_why(&result, limit_s, why, sizeof why);
        checkup_find(checkup, CHECKUP_FAIL, "no CUDA program starts",
                     "install the libraries of the loaded driver (modinfo -F version nvidia)",
                     "CUDA: %s", why);
    } /* else: no interpreter, which another check reports */
    command_clear(&result);
}

static void tell(const struct checkup *checkup, const char *answer)
{
    char *what;
    long  error = strtol(answer, &what, 10);

    what += *what == ' ';
    if (what == answer || error == 0 || error == MISMATCH)
        return;
    checkup_find(
        checkup, CHECKUP_FAIL, "no CUDA program starts",
        error == FABRIC
            ? "sudo systemctl restart nvidia-fabricmanager; its version must match the driver"
            : "nvidia-smi; sudo dmesg | grep NVRM; sudo reboot",
        "CUDA: error %ld of %.*s%s", error, (int)strcspn(what, "\n"), what,
        error == FABRIC ? " (the NVSwitches are not ready)" : "");
}
