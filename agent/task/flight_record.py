# flight_record.py - reads what PyTorch's flight recorder has written, for the agent of a node
#
#     python3 -I -c (this file) RANK=PATH...
#
# For each path it prints one line, a JSON object, with the last collectives of that rank:
#
#     {"rank": 3, "groups": [{"name": "0", "desc": "default_pg", "ranks": "0-3",
#         "calls": [{"seq": 120, "op": "all_reduce", "state": "started", "p2p": false,
#                    "in": "[[1024]]", "out": "[[1024]]", "at": "train.py:42 step"}, ...]}]}
#
# or {"rank": 3, "error": "why"}. A record is a pickle of plain data. Whoever writes to the rank's
# files might put anything there, so no class or function is ever looked up.
# SPDX-License-Identifier: Apache-2.0
import io
import json
import pickle
import sys

FILE_MAX = 64 << 20
GROUPS_MAX = 64
CALLS_MAX = 24  # of each group: the last ones
RANKS_MAX = 4000  # bytes
LINE_MAX = 48 << 10


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise ValueError(f"it names {module}.{name}: that is no record")


def main(arguments):
    for argument in arguments:
        rank, _, path = argument.partition("=")
        try:
            with open(path, "rb") as file:
                data = file.read(FILE_MAX + 1)
            if len(data) > FILE_MAX:
                raise ValueError("it is too long")
            groups = groups_of(PlainUnpickler(io.BytesIO(data)).load())
        except RecursionError:
            print(json.dumps({"rank": int(rank), "error": "it is too deep"}), flush=True)
        except Exception as why:  # anything may be in the file
            error = f"{type(why).__name__}: {why}"[:200]
            print(json.dumps({"rank": int(rank), "error": error}), flush=True)
        else:
            print(fitting_line(int(rank), groups), flush=True)


def groups_of(record):
    groups = {}
    for key, about in record.get("pg_config", {}).items():
        groups[str(key)] = {"name": text(key), "desc": text(about.get("desc", "")),
                            "ranks": ranks_of(about.get("ranks", "[]")), "calls": []}
    for entry in record.get("entries", []):
        name, desc = (tuple(entry.get("process_group", ())) + ("?", ""))[:2]
        group = groups.setdefault(str(name), {"name": text(name), "desc": text(desc),
                                              "ranks": "", "calls": []})
        group["calls"].append(call_of(entry))
    used = [group for group in groups.values() if group["calls"]]
    unused = [group for group in groups.values() if not group["calls"]]
    for group in used:
        group["calls"] = group["calls"][-CALLS_MAX:]
    return (used + unused)[:GROUPS_MAX]


def ranks_of(words):
    """PyTorch writes the ranks of a group as a string, "[0, 1]"; returns "0-1"."""
    words = words.strip("[] ") if isinstance(words, str) else ",".join(map(str, words))
    parts = []
    for rank in sorted(int(word) for word in words.split(",") if word.strip()):
        if parts and rank <= parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(f"{low}-{high}" if low < high else f"{low}" for low, high in parts)[:RANKS_MAX]


def call_of(entry):
    is_p2p = bool(entry.get("is_p2p"))
    return {"seq": int(entry.get("p2p_seq_id" if is_p2p else "collective_seq_id",
                                 entry.get("seq_id", -1))),
            "op": text(entry.get("profiling_name", "?")).partition(":")[2] or
                  text(entry.get("profiling_name", "?")),
            "state": text(entry.get("state", "?")), "p2p": is_p2p,
            "in": text(entry.get("input_sizes", "")), "out": text(entry.get("output_sizes", "")),
            "at": place_of(entry.get("frames", []))}


def place_of(frames):
    """The innermost call that is not PyTorch's own."""
    for frame in frames:
        path = str(frame.get("filename", "?"))
        if "/torch/" not in path and path != "??":
            return text(f"{path}:{frame.get('line', '?')} {frame.get('name', '')}".strip())
    return ""


def text(value):
    return str(value)[:160]


def fitting_line(rank, groups):
    """Fewer calls of each group, until the line is short enough for the agent."""
    while True:
        line = json.dumps({"rank": rank, "groups": groups})
        if len(line) <= LINE_MAX or not groups:
            return line
        if any(len(group["calls"]) > 1 for group in groups):
            for group in groups:
                group["calls"] = group["calls"][-max(1, len(group["calls"]) // 2):]
        else:
            groups = groups[:len(groups) // 2]


main(sys.argv[1:])
