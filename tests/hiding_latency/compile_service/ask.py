"""How tests ask a service, and texts that are good and bad."""

import http.client
import json
import socket

GOOD = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = %d; }'
ENDLESS = """template <class T, class U> struct Two {};
template <int N, class T> struct Grow { using type = typename Grow<N - 1, Two<T, T>>::type; };
template <class T> struct Grow<0, T> { using type = T; };
extern "C" __global__ void k(int* x) { *x = sizeof(Grow<%d, int>::type); }"""
EAGER = """#define A(x) x x x x x x x x
#define B(x) A(A(A(x)))
#define C(x) B(B(B(x)))
extern "C" __global__ void k(int* x) { C(C(x[%d] += 1;)) }"""
LARGE = 'extern "C" __global__ void k(int* x) { *x = %d; }\n__device__ int a[1 << 30] = {1};'
DEEP = 'extern "C" __global__ void k(int* x) { *x = %d + ' + "(" * 30_000 + "1" + ")" * 30_000 + "; }"


def ask(
    server,
    source="",
    *,
    method="POST",
    path="/api/compile",
    body=None,
    headers=None,
    sender="127.0.0.1",
    **more,
):
    """Status, answer, and headers of the answer. All of 127.x.x.x is this machine, so there are many senders."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.server_port, timeout=60, source_address=(sender, 0)
    )
    if body is None and method == "POST":
        body = json.dumps({"source": source, **more}).encode()
    given = {"Content-Type": "application/json"} if method == "POST" else {}
    try:
        connection.request(method, path, body, {**given, **(headers or {})})
        reply = connection.getresponse()
        said = reply.read()
    finally:
        connection.close()
    if reply.getheader("Content-Type") == "application/json" and method != "HEAD":
        said = json.loads(said)
    return reply.status, said, reply.headers


def error(server, source="", **more):
    """Status and sentence of a refusal."""
    status, said, _ = ask(server, source, **more)
    assert set(said) == {"error"}
    return status, said["error"]


def sent(server, source, sender="127.0.0.1"):
    """A connection on which a text was sent, for whose answer nobody waits: closing it takes the text back."""
    body = json.dumps({"source": source}).encode()
    head = "POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", server.server_port), source_address=(sender, 0))
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection
