/* wheels.h - NVIDIA's libraries in Python packages
 *
 * Packages ("wheels") like PyTorch bring NCCL and the CUDA runtime along, and many nodes have no
 * others. They are in site-packages/nvidia/NAME/lib, where the loader does not look.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WHEELS_H
#define MUSTER_WHEELS_H

#include <stdbool.h>

/* Names the Python, by its absolute path, whose packages are asked before those of each python3 on
 * PATH; NULL: none. Keeps the pointer. */
void wheels_set_python(const char *python);

/* Loads the library, such as "libnccl.so.2", for what is loaded later and needs it; it stays
 * loaded. Returns false if no package has it, or it cannot be loaded. */
bool wheels_load(const char *library);

#endif
