/* kernels_half.c - see kernels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/narrow.h"

#define elem      uint16_t
#define real      float
#define ELEM_TYPE DTYPE_HALF
#define LOAD      wide_half
#define STORE     narrow_half
#define TABLE     KERNELS_NAME(kernels_half)

#include "model/cpu/kernels_template.h"
