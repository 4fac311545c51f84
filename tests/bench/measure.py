"""measure.py COMMAND... - run it; print seconds, peak memory in KiB, exit status, CPU seconds

The command's output goes where ours would; the four numbers go to file descriptor 3. Memory
is the process's own high-water mark, read from /proc while it runs: what wait4() reports
would include ours from before the exec.
SPDX-License-Identifier: Apache-2.0
"""
import os
import resource
import subprocess
import sys
import threading
import time


def watch(pid, peak, done):
    while not done.wait(0.01):
        try:
            with open(f"/proc/{pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        peak[0] = int(line.split()[1])
        except OSError:
            return


begin = time.monotonic()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
peak, done = [0], threading.Event()
threading.Thread(target=watch, args=(child.pid, peak, done), daemon=True).start()
status = child.wait()
seconds = time.monotonic() - begin
done.set()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(3, b"%.3f %d %d %.3f\n" % (seconds, peak[0], status, used.ru_utime + used.ru_stime))
