#!/usr/bin/env python3
# dead_storage.py FOLDER FILE - mounts an empty file system (FUSE) that answers until FILE exists
#
# From then on whoever touches FOLDER waits in the kernel, and cannot be killed, until this process
# ends. It prints "mounted" once it is.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import struct
import sys

FORGET, GETATTR, INIT, ENOSYS = 2, 3, 26, 38
folder, stop = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
if libc.mount(b"dead", folder.encode(), b"fuse.dead", 0, options.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("mounted", flush=True)
while True:
    try:
        asked = os.read(fuse, 1 << 20)
    except OSError:
        break
    _, what, number = struct.unpack_from("=IIQ", asked)
    body, error = b"", -ENOSYS
    if what == INIT:
        body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 4096, 0, 1, 1, 4096, 1, 1, *[0] * 9)
    elif what == GETATTR:
        body = struct.pack("=QII", 0, 0, 0) + struct.pack("=6Q10I", 1, *[0] * 8, 0o40777, 2, *[0] * 5)
    if what != FORGET and not os.path.exists(stop):
        os.write(fuse, struct.pack("=IiQ", 16 + len(body), 0 if body else error, number) + body)
