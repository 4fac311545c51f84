/* gpu.h - the NVIDIA GPUs of this node, from the kernel's files
 *
 * Works without CUDA: device files to count the GPUs, PCI addresses to find the cores near
 * them. Slot N is the N-th GPU in PCI order, as nvidia-smi counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_H
#define MUSTER_AGENT_GPU_H

#define GPU_MAX 256

int gpu_count(void);
/* The same from the PCI bus, also without a driver. */
int gpu_count_on_bus(void);

/* Stores the NUMA node of each GPU, for at most `most` GPUs; -1 if it is unknown.
 * Returns the number of GPUs. */
int gpu_numa_nodes(int *node, int most);

/* Returns the number of the GPU behind /dev/nvidiaMINOR. */
int gpu_of_minor(int minor);

#endif
