/* kernels_bfloat16.c - see kernels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>

#include "model/narrow.h"

#define elem      uint16_t
#define real      float
#define ELEM_TYPE DTYPE_BFLOAT16
#define LOAD      wide_bfloat16
#define STORE     narrow_bfloat16
#define TABLE     KERNELS_NAME(kernels_bfloat16)

#include "model/cpu/kernels_template.h"
