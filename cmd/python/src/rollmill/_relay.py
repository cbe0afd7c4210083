"""The program that stands for a function of another Python process.

rollmill starts it as a file, so it imports nothing of the package. It hands its
standard input and output to that process, which answers the requests (see _calls),
and ends when they are answered.
"""

import os
import sys


def main() -> None:
    del sys.path[0]  # this folder, whose inspect would hide that of the standard library
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as process:
            process.connect(os.environ["_ROLLMILL_CALLS"])
            socket.send_fds(process, [sys.argv[1].encode()], [0, 1])
            process.recv(1)
    except (OSError, KeyError):
        raise SystemExit(f"{sys.argv[1]} is a function of a Python process that has ended: call rollmill.command.run there again") from None


if __name__ == "__main__":
    main()
