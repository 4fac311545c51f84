/* kernels_double.c - see kernels.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#define elem      double
#define real      double
#define ELEM_TYPE DTYPE_DOUBLE
#define LOAD(x)   (x)
#define STORE(x)  (x)
#define REAL_IS_DOUBLE
#define TABLE     KERNELS_NAME(kernels_double)

#include "model/cpu/kernels_template.h"
