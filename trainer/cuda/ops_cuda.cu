/* ops_cuda.cu - see ops_cuda.h; memory and the matrix products
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cuda/ops_cuda.h"

#include <stdlib.h>

#include "cuda/ops_state.h"

extern "C" {
#include "xalloc.h"
}

static void *ops_alloc(struct ops *ops, size_t bytes);
static void  ops_release(struct ops *ops, void *memory);
static void  ops_zero(struct ops *ops, void *memory, size_t bytes);
static void  ops_read(struct ops *ops, void *host, const void *memory, size_t bytes);
static void  ops_write(struct ops *ops, void *memory, const void *host, size_t bytes);
static void  multiply(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                    const void *bias, void *c);
static int   ops_check(struct ops *ops, struct error *err);
static void  ops_free(struct ops *ops);

struct ops *ops_cuda_new(enum dtype type, void *stream, struct error *err)
{
    struct ops_cuda *cuda;

    if (type != DTYPE_FLOAT && type != DTYPE_BFLOAT16 && type != DTYPE_HALF) {
        err_set(err, "models cannot compute in %s on GPUs", dtype_name(type));
        return NULL;
    }
    cuda = (struct ops_cuda *)xcalloc(1, sizeof *cuda);
    stream_init(&cuda->stream, (cudaStream_t)stream);
    cuda->ops.name = "cuda";
    cuda->ops.type = type;
    cuda->ops.stat_size = sizeof(float);
    cuda->ops.alloc = ops_alloc;
    cuda->ops.release = ops_release;
    cuda->ops.zero = ops_zero;
    cuda->ops.read = ops_read;
    cuda->ops.write = ops_write;
    cuda->ops.matmul = multiply;
    cuda->ops.check = ops_check;
    cuda->ops.free = ops_free;
    loops_fill(&cuda->ops);
    rows_fill(&cuda->ops);
    embed_fill(&cuda->ops);
    norm_fill(&cuda->ops);
    loss_fill(&cuda->ops);
    attention_fill(&cuda->ops);
    park_fill(&cuda->ops);
    cuda->products = products_cuda_new(&cuda->stream, type);
    if (ops_check(&cuda->ops, err) == 0)
        return &cuda->ops;
    ops_free(&cuda->ops);
    return NULL;
}

static void ops_free(struct ops *ops)
{
    struct ops_cuda *cuda = (struct ops_cuda *)ops;

    stream_clear(&cuda->stream);
    park_clear(cuda);
    products_cuda_free(cuda->products);
    cudaFree(cuda->columns);
    cudaFree(cuda->losses);
    cudaFree(cuda->loss);
    free(cuda);
}

static void *ops_alloc(struct ops *ops, size_t bytes)
{
    return stream_alloc(stream_of(ops), bytes);
}

static void ops_release(struct ops *ops, void *memory)
{
    (void)ops;
    cudaFree(memory);
}

static void ops_zero(struct ops *ops, void *memory, size_t bytes)
{
    stream_zero(stream_of(ops), memory, bytes);
}

static void ops_read(struct ops *ops, void *host, const void *memory, size_t bytes)
{
    stream_read(stream_of(ops), host, memory, bytes);
}

static void ops_write(struct ops *ops, void *memory, const void *host, size_t bytes)
{
    stream_write(stream_of(ops), memory, host, bytes);
}

static void multiply(struct ops *ops, const struct matmul *shape, const void *a, const void *b,
                   const void *bias, void *c)
{
    product_cuda(((struct ops_cuda *)ops)->products, shape, a, b, bias, c);
}

/* The state of the stream shows whether a kernel has failed. */
static int ops_check(struct ops *ops, struct error *err)
{
    struct stream    *stream = stream_of(ops);
    const cudaError_t state = cudaStreamQuery(stream->cuda);

    if (state != cudaErrorNotReady)
        stream_keep(stream, "an operation of the model", state);
    return stream->failed ? err_set(err, "%s", stream->why.text) : 0;
}

bool ops_room(struct ops_cuda *cuda, float **memory, size_t *room, size_t count)
{
    if (count <= *room)
        return !cuda->stream.failed;
    cudaFree(*memory);
    *memory = (float *)stream_alloc(&cuda->stream, count * sizeof **memory);
    *room = *memory != NULL ? count : 0;
    return *memory != NULL;
}
