#!/usr/bin/env python3
"""Serves a store in version 1 of the dialogue alone: docs/shipping.md, "Versions".

python3 old_peer.py BINARY STORE. A greeting of a newer version is answered with the versions that it speaks. The caller comes again with
version 1, and everything from then on is between it and the program.
"""

import hashlib
import os
import subprocess
import sys
import threading

HEADS, VERSIONS, VERSION = 1, 0, 1


def read(count):
    found = b""
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            sys.exit("old_peer: the caller hung up")
        found += part
    return found


def main(binary, store):
    start = read(1)
    while not start[1:] or start[-1] & 128:
        start += read(1)
    start += read(4)  # "HLS" and the version
    if start[0] != HEADS or start[-4:-1] != b"HLS":
        sys.exit("old_peer: what came is no greeting")
    if start[-1] != VERSION:
        message = bytes([VERSIONS, 2, VERSION, VERSION])
        os.write(1, message + hashlib.sha256(bytes(32) + message).digest()[:4])
        return
    serving = subprocess.Popen([binary, "--store", store, "serve", "--stdio"], stdin=subprocess.PIPE)
    serving.stdin.write(start)
    serving.stdin.flush()

    def hand_on():
        while part := os.read(0, 65_536):
            os.write(serving.stdin.fileno(), part)
        serving.stdin.close()

    threading.Thread(target=hand_on, daemon=True).start()
    code = serving.wait()
    # The thread may wait for a caller that has nothing more to say.
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
