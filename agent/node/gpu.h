/* gpu.h - the NVIDIA GPUs of this node, by the kernel's files
 *
 * Without CUDA: device files to count them, PCI addresses to find the cores near them.
 * Slot N is the N-th GPU in PCI order, as nvidia-smi counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_H
#define MUSTER_AGENT_GPU_H

#define GPU_MAX 256

int gpu_count(void);

/* The NUMA node of each GPU into node, for `most` GPUs at most; -1 if it is not known.
 * Returns the number of GPUs. */
int gpu_numa_nodes(int *node, int most);

/* The number of the GPU behind /dev/nvidiaMINOR. */
int gpu_of_minor(int minor);

#endif
