/* comm_gloo.cc - the communicator on CPUs: Gloo, over TCP
 *
 * This is the only C++ file: no Gloo type and no exception leaves it. Gloo takes the first
 * connection to a port of its own for that of the other rank. So it gets no such port: peers_join()
 * connects the ranks, which prove to each other that they are ranks of this run, and Gloo gets the
 * connected sockets. What it sends is the same as ever.
 *
 * Gloo has no reduce_scatter that takes a timeout, so this file implements it as a ring
 * of sends and recvs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"
#include "comm/iface.h"
#include "comm/peers.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/context.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/* Gloo's slots: the collectives use the prefixes 1 to 15 in bits 40 to 47. */
constexpr uint64_t slot_peer = uint64_t(0x70) << 40;
constexpr uint64_t slot_ring = uint64_t(0x71) << 40;

using Peers = std::unique_ptr<struct peers, decltype(&peers_close)>;

/* One end of a connection that peers_join() has made. Gloo before 2023 listens while it constructs
 * a pair, at the address of the device: for microseconds, at 127.0.0.1. Later ones listen there as
 * long as there is a device, but no pair waits for a connection. */
class Link : public gloo::transport::tcp::Pair {
public:
    Link(gloo::transport::tcp::Context *context, gloo::transport::tcp::Device *device, int rank,
         milliseconds timeout, int fd);
};

class Links : public gloo::transport::tcp::Context {
public:
    using gloo::transport::tcp::Context::Context;

    void add(int peer, int fd); /* takes fd */
};

/* All ranks, with a link to each other one. */
class Mesh : public gloo::Context {
public:
    explicit Mesh(const comm_world &world);

    Peers peers{ nullptr, peers_close }; /* null: this rank is alone */

private:
    void meet(const comm_world &world);
    void join(const comm_world &world, Links &links);
};

struct Pending {
    Buffer buffer;
    bool   is_send;
};

struct GlooComm : comm {
    std::shared_ptr<Mesh>    mesh;
    std::vector<char>        scratch; /* of reduce_scatter */
    std::vector<Pending>     pending; /* sends and recvs of the open group */
    bool                     in_group = false;
    uint32_t                 tag = 0;
};

const comm_ops *gloo_ops();

/* ---- opening ---- */

/* Carries a PMI error out of the constructors. */
struct PmiFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Mesh::Mesh(const comm_world &world) : gloo::Context(world.rank, world.size)
{
    gloo::transport::tcp::attr attr("127.0.0.1"); /* where no rank calls: see Link */

    setTimeout(milliseconds(int64_t(world.timeout_s * 1000)));
    device_ = gloo::transport::tcp::CreateDevice(attr);
    auto links = std::make_shared<Links>(
        std::dynamic_pointer_cast<gloo::transport::tcp::Device>(device_), rank, size);
    links->setTimeout(getTimeout());
    transportContext_ = links;
    if (size == 1)
        return; /* it needs no network */
    meet(world);
    join(world, *links);
}

void Mesh::meet(const comm_world &world)
{
    struct iface chosen;
    struct error err;

    if (iface_choose("gloo", &chosen, &err) < 0)
        throw std::runtime_error(err.text);
    peers.reset(peers_listen(&chosen.socket_address, world.rank, world.size, world.label, &err));
    if (peers == nullptr)
        throw std::runtime_error(err.text);
    if (peers_publish(peers.get(), world.pmi, &err) < 0 || pmi_barrier(world.pmi, &err) < 0 ||
        peers_meet(peers.get(), world.pmi, &err) < 0)
        throw PmiFailure(err.text);
}

/* Some ranks may have finished already. If this rank fails, it calls all ranks, so that they do not
 * count it as lost. */
void Mesh::join(const comm_world &world, Links &links)
{
    std::vector<peer_state> state(size, PEER_THERE);
    std::vector<int>        fd(size, -1);
    struct error            err;

    if (peers_join(peers.get(), world.timeout_s, fd.data(), &err) < 0) {
        peers_ask(peers.get(), false, state.data());
        throw std::runtime_error(err.text);
    }
    for (int peer = 0; peer < size; peer++)
        if (peer != rank)
            links.add(peer, fd[peer]);
}

void Links::add(int peer, int fd)
{
    pairs_[peer].reset(new Link(this, device_.get(), peer, getTimeout(), fd));
}

/* Closing the port also ends Gloo's interest in it. */
Link::Link(gloo::transport::tcp::Context *context, gloo::transport::tcp::Device *device, int rank,
           milliseconds timeout, int fd)
    : Pair(context, device, rank, timeout)
{
    std::lock_guard<std::mutex> lock(m_);
    const int                   one = 1;

    if (fd_ >= 0)
        ::close(fd_);
    fd_ = fd;
    self_ = gloo::transport::tcp::Address::fromSockName(fd);
    peer_ = gloo::transport::tcp::Address::fromPeerName(fd);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    device_->registerDescriptor(fd, EPOLLIN, this);
    changeState(CONNECTED);
}

/* Removes the source position that Gloo prefixes: "[../gloo/transport/tcp/pair.cc:598] ". */
const char *plain(const char *text)
{
    const char *end = *text == '[' ? strstr(text, "] ") : nullptr;

    return end != nullptr ? end + 2 : text;
}

/* ---- errors of operations ---- */

/* Calls work and turns an exception into an error that names the operation and the lost
 * ranks. Gloo knows only which connection broke, and its peer may have exited because it lost
 * another rank. Gloo nearly always reports a peer's death at once. Gloo 2022 can miss it while
 * a message to that peer is half sent; then the wait lasts until the timeout. */
template <typename Work>
int guarded(struct comm *base, const char *what, struct error *err, Work work)
{
    GlooComm &comm = *static_cast<GlooComm *>(base);
    auto      start = steady_clock::now();

    try {
        work(comm);
        return 0;
    } catch (const std::exception &failure) {
        comm.timed_out = steady_clock::now() - start >= comm.mesh->getTimeout();
        return peers_blame(comm.mesh->peers.get(), what,
                           comm.timed_out ? "all ranks answer" : plain(failure.what()),
                           comm.timed_out ? comm.timeout_s : 0, err);
    }
}

/* As guarded(), for an operation in which all ranks take part. */
template <typename Work>
int together(struct comm *base, const char *what, struct error *err, Work work)
{
    peers_count(static_cast<GlooComm *>(base)->mesh->peers.get());
    return guarded(base, what, err, work);
}

/* ---- operations ---- */

template <typename Element>
void all_reduce_as(GlooComm &comm, const void *in, void *out, size_t count,
                   const gloo::AllreduceOptions::Func &reduce)
{
    gloo::AllreduceOptions options(comm.mesh);

    if (in != out)
        options.setInput(static_cast<Element *>(const_cast<void *>(in)), count);
    options.setOutput(static_cast<Element *>(out), count);
    options.setReduceFunction(reduce);
    options.setTag(comm.tag++);
    gloo::allreduce(options);
}

int all_reduce(struct comm *base, const void *in, void *out, size_t count, enum dtype type,
               enum redop op, struct error *err)
{
    auto reduce = [type, op](void *to, const void *a, const void *b, size_t n) {
        dtype_reduce(type, op, to, a, b, n);
    };

    if (base->size == 1 && in != out)
        memcpy(out, in, count * dtype_size(type));
    if (base->size == 1 || count == 0)
        return 0;
    return together(base, "all_reduce", err, [=](GlooComm &comm) {
        switch (dtype_size(type)) { /* Gloo takes the size from the C++ type */
        case 1: return all_reduce_as<uint8_t>(comm, in, out, count, reduce);
        case 2: return all_reduce_as<uint16_t>(comm, in, out, count, reduce);
        case 4: return all_reduce_as<uint32_t>(comm, in, out, count, reduce);
        default: return all_reduce_as<uint64_t>(comm, in, out, count, reduce);
        }
    });
}

/* The part for rank r starts at rank r + 1 and is passed round the ring. Each rank adds its
 * own values, until the part reaches rank r. */
int reduce_scatter(struct comm *base, const void *in, void *out, size_t count,
                   enum dtype type, enum redop op, struct error *err)
{
    size_t bytes = count * dtype_size(type);
    int    rank = base->rank, size = base->size;
    auto   part = [=](int of) {
        return static_cast<const char *>(in) + size_t((of + 2 * size) % size) * bytes;
    };

    return together(base, "reduce_scatter", err, [=](GlooComm &comm) {
        comm.scratch.resize(2 * bytes);
        char  *sum = comm.scratch.data(), *next = sum + bytes;
        Buffer from = comm.mesh->createUnboundBuffer(sum, bytes);
        Buffer to = comm.mesh->createUnboundBuffer(next, bytes);

        memcpy(sum, part(rank - 1), bytes);
        for (int step = 0; step < size - 1; step++) {
            to->recv((rank + size - 1) % size, slot_ring);
            from->send((rank + 1) % size, slot_ring);
            to->waitRecv(comm.mesh->getTimeout());
            from->waitSend(comm.mesh->getTimeout());
            dtype_reduce(type, op, next, next, part(rank - 2 - step), count);
            std::swap(sum, next);
            std::swap(from, to);
        }
        memcpy(out, sum, bytes);
    });
}

int all_gather(struct comm *base, const void *in, void *out, size_t count, enum dtype type,
               struct error *err)
{
    size_t bytes = count * dtype_size(type);
    char  *own = static_cast<char *>(out) + size_t(base->rank) * bytes;

    if (in != own)
        memcpy(own, in, bytes);
    if (base->size == 1 || count == 0)
        return 0;
    return together(base, "all_gather", err, [=](GlooComm &comm) {
        gloo::AllgatherOptions options(comm.mesh);

        options.setOutput(static_cast<char *>(out), bytes * size_t(comm.size));
        options.setTag(comm.tag++);
        gloo::allgather(options);
    });
}

int all_to_all(struct comm *base, const void *in, void *out, size_t count, enum dtype type,
               struct error *err)
{
    size_t bytes = count * dtype_size(type) * size_t(base->size);

    if (base->size == 1)
        memcpy(out, in, bytes);
    if (base->size == 1 || count == 0)
        return 0;
    return together(base, "all_to_all", err, [=](GlooComm &comm) {
        gloo::AlltoallOptions options(comm.mesh);

        options.setInput(static_cast<char *>(const_cast<void *>(in)), bytes);
        options.setOutput(static_cast<char *>(out), bytes);
        options.setTag(comm.tag++);
        gloo::alltoall(options);
    });
}

int broadcast(struct comm *base, void *buffer, size_t count, enum dtype type, int root,
              struct error *err)
{
    if (base->size == 1 || count == 0)
        return 0;
    return together(base, "broadcast", err, [=](GlooComm &comm) {
        gloo::BroadcastOptions options(comm.mesh);

        options.setOutput(static_cast<char *>(buffer), count * dtype_size(type));
        options.setRoot(root);
        options.setTag(comm.tag++);
        gloo::broadcast(options);
    });
}

void finish(GlooComm &comm)
{
    std::vector<Pending> pending = std::move(comm.pending);

    comm.pending.clear();
    for (auto &one : pending) {
        if (one.is_send)
            one.buffer->waitSend(comm.mesh->getTimeout());
        else
            one.buffer->waitRecv(comm.mesh->getTimeout());
    }
}

int exchange(struct comm *base, const char *what, void *memory, size_t bytes, int peer,
             bool is_send, struct error *err)
{
    return guarded(base, what, err, [=](GlooComm &comm) {
        comm.pending.push_back({ comm.mesh->createUnboundBuffer(memory, bytes), is_send });
        if (is_send)
            comm.pending.back().buffer->send(peer, slot_peer);
        else
            comm.pending.back().buffer->recv(peer, slot_peer);
        if (!comm.in_group)
            finish(comm);
    });
}

int send(struct comm *base, const void *in, size_t count, enum dtype type, int peer,
         struct error *err)
{
    return exchange(base, "send", const_cast<void *>(in), count * dtype_size(type), peer,
                    true, err);
}

int recv(struct comm *base, void *out, size_t count, enum dtype type, int peer,
         struct error *err)
{
    return exchange(base, "recv", out, count * dtype_size(type), peer, false, err);
}

int group_start(struct comm *base, struct error *)
{
    static_cast<GlooComm *>(base)->in_group = true;
    return 0;
}

int group_end(struct comm *base, struct error *err)
{
    static_cast<GlooComm *>(base)->in_group = false;
    return guarded(base, "send and recv", err, finish);
}

int barrier(struct comm *base, struct error *err)
{
    if (base->size == 1)
        return 0;
    return together(base, "barrier", err, [](GlooComm &comm) {
        gloo::BarrierOptions options(comm.mesh);

        options.setTag(comm.tag++);
        gloo::barrier(options);
    });
}

/* Every operation has finished when its call returns. */
uint64_t mark(struct comm *)
{
    return 0;
}

int wait(struct comm *, uint64_t, struct error *)
{
    return 0;
}

/* ---- memory, close and abort ---- */

void *alloc(struct comm *, size_t size, struct error *err)
{
    void *memory;

    if (posix_memalign(&memory, 64, size > 0 ? size : 1) == 0)
        return memory;
    err_set(err, "out of memory: %zu bytes", size);
    return nullptr;
}

void release(void *memory)
{
    free(memory);
}

int copy(struct comm *, void *to, const void *from, size_t size, enum comm_copy,
         struct error *)
{
    memcpy(to, from, size);
    return 0;
}

void abort_comm(struct comm *base)
{
    delete static_cast<GlooComm *>(base);
}

/* Without the barrier, a rank that closes its connections early would look dead to its
 * peers. */
int close_comm(struct comm *base, struct error *err)
{
    int rc = barrier(base, err);

    abort_comm(base);
    return rc;
}

const comm_ops *gloo_ops()
{
    static const comm_ops ops = {
        "gloo",    all_reduce, reduce_scatter, all_gather, all_to_all, broadcast,
        send,      recv,       barrier,        group_start, group_end, mark,
        wait,      alloc,      release,        copy,       close_comm, abort_comm,
        nullptr,   nullptr,    nullptr,        nullptr,
    };

    return &ops;
}

} // namespace

static struct comm *open_comm(const struct comm_world *world, const struct comm_device *device,
                              bool *timed_out, struct error *err)
{
    auto start = steady_clock::now();

    (void)device;
    *timed_out = false;
    try {
        std::unique_ptr<GlooComm> made(new GlooComm());

        made->ops = gloo_ops();
        made->rank = world->rank;
        made->size = world->size;
        made->memory = COMM_HOST;
        made->timeout_s = world->timeout_s;
        made->mesh = std::make_shared<Mesh>(*world);
        return made.release();
    } catch (const PmiFailure &failure) {
        *timed_out = world->pmi->timed_out;
        err_set(err, "gloo: %s", failure.what());
    } catch (const std::exception &failure) {
        *timed_out = steady_clock::now() - start >= std::chrono::duration<double>(world->timeout_s);
        err_set(err, "gloo: %s", plain(failure.what()));
    }
    return nullptr;
}

const struct comm_backend comm_gloo_backend = { nullptr, open_comm };
