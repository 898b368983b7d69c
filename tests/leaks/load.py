"""Requests to server.c:  load.py SOCKET REQUESTS_A_SECOND SECONDS"""
import socket
import sys
import time


def request(path, line="get"):
    """The answer; the server rests when it is there."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(line.encode() + b"\n")
        answer = b""
        while piece := s.recv(4096):
            answer += piece
        return answer


def stay(path):
    """A connection that stays open; to be closed."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(b"stay\n")
    return s


def main():
    path, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    first = time.monotonic()
    for i in range(int(rate * seconds)):
        time.sleep(max(0, first + i / rate - time.monotonic()))
        request(path)


if __name__ == "__main__":
    main()
