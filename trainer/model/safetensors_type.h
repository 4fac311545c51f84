/* safetensors_type.h - the element types of safetensors files
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SAFETENSORS_TYPE_H
#define MUSTER_SAFETENSORS_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "comm/dtype.h"

/* Finds a type by its name in a header ("F32"); -1 if it is unknown or name is NULL. */
int         safetensors_type_find(const char *name);
int         safetensors_type_of(enum dtype type); /* of float, half and bfloat16 */
const char *safetensors_type_name(int type);
size_t      safetensors_type_size(int type);
bool        safetensors_type_is_number(int type); /* can it be converted from and to float? */

/* Convert count elements in a file's format to floats, and back. */
void safetensors_type_to_float(int type, const void *bytes, size_t count, float *values);
void safetensors_type_from_float(int type, const float *values, size_t count, void *bytes);

/* The key of struct safetensors_how's note in __metadata__. */
#define SAFETENSORS_NOTE "muster_base"

#endif
