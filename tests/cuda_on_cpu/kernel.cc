/* kernel.cc - the threads of a block as fibers: see README
 *
 * A fiber runs one thread of the block after the other, until one has to wait for others: then
 * the next fiber begins with the next thread, or goes on with one that need not wait any more.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cuda_on_cpu.h"

#include <algorithm>
#include <memory>
#include <set>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#define FIBERS_WITH_ASAN
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define FIBERS_WITH_ASAN
#endif
#endif
#ifdef FIBERS_WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define WARP         32u
#define THREADS_MAX  1024u
#define STACK        ((size_t)256 << 10)
#define SHARED_MAX   ((size_t)227 << 10) /* Hopper's; Ampere has 163 or 99 */
#define SHARED_FREE  ((size_t)48 << 10)  /* for kernels that did not ask for more */
#define PATTERN      0x7fc5a5a5u         /* as a float it is no number */

/* Switching takes most of a kernel's time, and with swapcontext it is 50 times as much: that asks
 * the kernel for the signal mask. */
#ifdef __x86_64__
typedef void *place; /* the stack's top, with the registers that a function must keep */
extern "C" void cuda_on_cpu_switch(place *from, place to);
__asm__(".text\n"
        ".type cuda_on_cpu_switch, @function\n"
        "cuda_on_cpu_switch:\n"
        "    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
        "    ret\n"
        ".size cuda_on_cpu_switch, .-cuda_on_cpu_switch\n");
#define SWITCH(FROM, TO) cuda_on_cpu_switch(&(FROM), TO)
#else
typedef ucontext_t place;
#define SWITCH(FROM, TO) swapcontext(&(FROM), &(TO))
#endif

struct fiber {
    place    at;
    void    *stack, *fake; /* fake: ASan's */
    size_t   stack_size;
    unsigned thread; /* that it runs */
};

/* Those who wait for the rest of their warp, or of the block. */
struct meeting {
    unsigned             members, arrived;
    std::vector<fiber *> waiting;
};

struct warp {
    struct meeting meeting;
    unsigned       bits[2][WARP], rounds[WARP];
    unsigned       sets[2][WARP][6], set_rounds[WARP];
};

uint3 threadIdx, blockIdx;
dim3  blockDim, gridDim;
alignas(16) float shared_floats[SHARED_MAX / sizeof(float) + WARP];

static const std::function<void()>        *body;
static std::vector<unsigned>               order; /* of the threads */
static unsigned                            begun, ended;
static std::vector<std::unique_ptr<fiber>> fibers;
static std::vector<fiber *>                ready, idle;
static fiber                               outside, *current;
static struct meeting                      block_meeting;
static std::vector<struct warp>            warps;
static std::set<const void *>              may_have_more;

static void run_block(size_t shared);
static void go_on();
static void switch_to(fiber *to);
static void fiber_main();
static void meet(struct meeting *meeting);

/* ---- blocks ---- */

void cuda_on_cpu_run(const dim3 &grid, const dim3 &block, size_t shared,
                     const std::function<void()> &thread)
{
    const unsigned        threads = block.x;
    std::vector<unsigned> blocks(grid.x);
    unsigned              i;

    body = &thread;
    gridDim = grid;
    blockDim = block;
    order.resize(threads);
    for (i = 0; i < threads; i++)
        order[i] = i;
    for (i = 0; i < grid.x; i++)
        blocks[i] = i;
    for (i = grid.x; i > 1; i--)
        std::swap(blocks[i - 1], blocks[cuda_on_cpu_draw(i)]);
    for (i = 0; i < grid.x; i++) {
        blockIdx = { blocks[i], 0, 0 };
        run_block(shared);
    }
}

static void run_block(size_t shared)
{
    const unsigned threads = blockDim.x;
    const size_t   floats = (shared + sizeof(float) - 1) / sizeof(float);
    uint32_t      *bits = (uint32_t *)shared_floats;
    unsigned       i;

    for (i = threads; i > 1; i--)
        std::swap(order[i - 1], order[cuda_on_cpu_draw(i)]);
    std::fill(bits, bits + floats + WARP, PATTERN);
    begun = ended = 0;
    block_meeting.members = threads;
    warps.assign((threads + WARP - 1) / WARP, warp());
    for (struct warp &w : warps)
        w.meeting.members = WARP;
    current = &outside;
    go_on();
    if (ended < threads)
        cuda_on_cpu_die("%u of %u threads of a block wait for others that have ended",
                        threads - ended, threads);
    for (i = 0; i < WARP; i++)
        if (bits[floats + i] != PATTERN)
            cuda_on_cpu_die("a block writes beyond its %zu bytes of shared memory", shared);
}

/* ---- fibers ---- */

static void begin_at(fiber *f)
{
#ifdef __x86_64__
    uintptr_t *top = (uintptr_t *)((char *)f->stack + f->stack_size) - 2;

    *top = (uintptr_t)fiber_main; /* where it returns to, with what is above as its caller */
    f->at = top - 6;
#else
    getcontext(&f->at);
    f->at.uc_stack.ss_sp = f->stack;
    f->at.uc_stack.ss_size = f->stack_size;
    makecontext(&f->at, fiber_main, 0);
#endif
}

static fiber *idle_fiber()
{
    std::unique_ptr<fiber> made;
    fiber                 *f;

    if (idle.empty()) {
        made = std::make_unique<fiber>();
        made->stack_size = STACK;
        made->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made->stack == MAP_FAILED)
            cuda_on_cpu_die("no memory for a fiber");
        begin_at(made.get());
        idle.push_back(made.get());
        fibers.push_back(std::move(made));
    }
    f = idle.back();
    idle.pop_back();
    return f;
}

/* This fiber cannot: whoever can. Outside is where the block is at its end, or stuck. */
static void go_on()
{
    fiber   *next = &outside;
    unsigned which;

    if (begun < blockDim.x) {
        next = idle_fiber();
    } else if (!ready.empty()) {
        which = cuda_on_cpu_draw((unsigned)ready.size());
        next = ready[which];
        ready[which] = ready.back();
        ready.pop_back();
    }
    if (next != current)
        switch_to(next);
}

static void switch_to(fiber *to)
{
    fiber *from = current;

    current = to;
#ifdef FIBERS_WITH_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->stack_size);
#endif
    SWITCH(from->at, to->at);
#ifdef FIBERS_WITH_ASAN
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
    threadIdx = { from->thread, 0, 0 };
}

static void fiber_main()
{
#ifdef FIBERS_WITH_ASAN
    const void *bottom;
    size_t      size;

    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    if (outside.stack == NULL) { /* whence the first one came */
        outside.stack = (void *)bottom;
        outside.stack_size = size;
    }
#endif
    for (;;) {
        while (begun < blockDim.x) {
            current->thread = order[begun++];
            threadIdx = { current->thread, 0, 0 };
            (*body)();
            ended++;
        }
        idle.push_back(current);
        go_on();
    }
}

/* ---- waiting for each other ---- */

static void meet(struct meeting *meeting)
{
    if (++meeting->arrived < meeting->members) {
        meeting->waiting.push_back(current);
        go_on();
        return;
    }
    meeting->arrived = 0;
    ready.insert(ready.end(), meeting->waiting.begin(), meeting->waiting.end());
    meeting->waiting.clear();
}

void __syncthreads()
{
    meet(&block_meeting);
}

void __syncwarp(unsigned mask)
{
    if (mask != 0xffffffffu)
        cuda_on_cpu_die("a part of a warp is not supported");
    meet(&warps[threadIdx.x / WARP].meeting);
}

/* Nobody comes to the next but one round before all have left this one. */
unsigned cuda_on_cpu_shuffle(unsigned mask, unsigned bits, int lane)
{
    struct warp   *w = &warps[threadIdx.x / WARP];
    const unsigned round = w->rounds[threadIdx.x % WARP]++ % 2;

    w->bits[round][threadIdx.x % WARP] = bits;
    __syncwarp(mask);
    return w->bits[round][lane];
}

/* Likewise, and what it returns is there until the next but one round. */
const unsigned (*cuda_on_cpu_exchange(const unsigned mine[6]))[6]
{
    struct warp   *w = &warps[threadIdx.x / WARP];
    const unsigned round = w->set_rounds[threadIdx.x % WARP]++ % 2;

    std::copy(mine, mine + 6, w->sets[round][threadIdx.x % WARP]);
    __syncwarp();
    return w->sets[round];
}

/* ---- launches ---- */

/* It is the architecture that CUDA_ON_CPU_ARCH names, or 80. */
extern "C" cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes,
                                             const void *function)
{
    const char *arch = getenv("CUDA_ON_CPU_ARCH");

    if (function == NULL)
        return cudaErrorInvalidValue;
    attributes->ptxVersion = arch != NULL ? atoi(arch) : 80;
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute which,
                                            int value)
{
    if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        (size_t)value > SHARED_MAX)
        return cudaErrorInvalidValue;
    may_have_more.insert(function);
    return cudaSuccess;
}

cudaError_t cuda_on_cpu_launch(const cudaLaunchConfig_t &config, const void *function,
                               const std::function<void()> &thread)
{
    const dim3   grid = config.gridDim, block = config.blockDim;
    const size_t shared = config.dynamicSmemBytes;

    if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1)
        return cudaErrorInvalidValue;
    if (block.x == 0 || block.x > THREADS_MAX || block.x % WARP != 0 || shared > SHARED_MAX ||
        (shared > SHARED_FREE && may_have_more.count(function) == 0))
        return cudaErrorInvalidValue;
    cuda_on_cpu_issue(config.stream, [grid, block, shared, thread] {
        cuda_on_cpu_run(grid, block, shared, thread);
        return true;
    });
    return cudaSuccess;
}
