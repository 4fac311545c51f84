/* kernels.h - the operations of ops_cpu.c that are loops of this program
 *
 * kernels_template.h is compiled for each element type and for several kinds of CPU; ops_cpu.c
 * takes the best version that this CPU can run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KERNELS_H
#define MUSTER_KERNELS_H

#include "model/ops.h"

/* All but memory, matmul, check and free. */
extern const struct ops kernels_float, kernels_bfloat16, kernels_half, kernels_double;
#ifdef KERNELS_X86
extern const struct ops kernels_float_avx2, kernels_bfloat16_avx2, kernels_half_avx2;
extern const struct ops kernels_float_avx512, kernels_bfloat16_avx512, kernels_half_avx512;
#endif

/* The table of kernels_float.c is kernels_float, plus a suffix from the compiler's options. */
#ifndef KERNELS_SUFFIX
#define KERNELS_SUFFIX
#endif
#define KERNELS_PASTE(NAME, SUFFIX)  NAME##SUFFIX
#define KERNELS_EXPAND(NAME, SUFFIX) KERNELS_PASTE(NAME, SUFFIX)
#define KERNELS_NAME(NAME)           KERNELS_EXPAND(NAME, KERNELS_SUFFIX)

#endif
