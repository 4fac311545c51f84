#!/usr/bin/env python3
"""read_events.py FILE - the scalars of a file for TensorBoard, as lines of tag, step and value

Written after TFRecord's and protobuf's descriptions, and with a CRC-32C of its own: it shares
nothing with the program that wrote the file. Anything out of order ends it with status 1.

SPDX-License-Identifier: Apache-2.0
"""
import struct
import sys


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    for number, record in enumerate(records(data)):
        event = fields(record)
        seconds, = struct.unpack("<d", event[1][0])
        assert 1.7e9 < seconds < 1e10, seconds
        if number == 0:
            assert event[3] == [b"brain.Event:2"], event
            continue
        for value in fields(event[5][0])[1]:
            parts = fields(value)
            scalar, = struct.unpack("<f", parts[2][0])
            print(parts[1][0].decode(), event[2][0], f"{scalar:.6g}")


def records(data):
    """Length, its checksum, the bytes, their checksum."""
    at = 0
    while at < len(data):
        size, check = struct.unpack_from("<QI", data, at)
        record = data[at + 12:at + 12 + size]
        record_check, = struct.unpack_from("<I", data, at + 12 + size)
        assert check == masked_crc(data[at:at + 8]), f"length at {at}"
        assert record_check == masked_crc(record), f"record at {at}"
        at += 12 + size + 4
        yield record


def fields(message):
    """Number -> values, as they are on the wire: bytes, or whole numbers."""
    found, at = {}, 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        else:
            size, at = varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = message[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    assert at == len(message)
    return found


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def masked_crc(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


if __name__ == "__main__":
    main()
