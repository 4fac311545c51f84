/* gpu.h - the NVIDIA GPUs of this node as the kernel's files show them
 *
 * No CUDA here: device files to count them, PCI addresses to know which cores
 * are near. Slot N is the N-th GPU in PCI order, as nvidia-smi counts.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_H
#define MUSTER_AGENT_GPU_H

#define GPU_MAX 256

int gpu_count(void);

/* The NUMA node of each GPU into node, at most most of them, -1 where it is not
 * known. Returns how many there are. */
int gpu_numa_nodes(int *node, int most);

/* The number of the GPU behind /dev/nvidiaMINOR. */
int gpu_of_minor(int minor);

#endif
