/* kernels_float.c - see kernels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#define elem      float
#define real      float
#define ELEM_TYPE DTYPE_FLOAT
#define LOAD(x)   (x)
#define STORE(x)  (x)
#define TABLE     KERNELS_NAME(kernels_float)

#include "model/cpu/kernels_template.h"
