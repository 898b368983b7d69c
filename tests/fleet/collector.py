"""A server that stands for an engine: it keeps what it is sent and answers as
it is told to."""
import http.server
import math
import threading
import time


class Request:
    def __init__(self, handler, body):
        self.path = handler.path
        self.headers = handler.headers
        self.body = body
        self.at = time.monotonic()


class Collector:
    """answers: one a request, the last for all that follow: a status, or
    (status, {header: value}, body), or math.inf to say nothing, or None to
    hang up at once."""

    def __init__(self, case, *answers):
        self.answers = list(answers) or [200]
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append(Request(self, body))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 \
                    else outer.answers[0]
                if answer is None or answer == math.inf:
                    if answer is not None:
                        outer.over.wait()
                    self.close_connection = True
                    return
                status, headers, text = answer if isinstance(
                    answer, tuple) else (answer, {}, b"")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.over = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,),
                         daemon=True).start()
        case.addCleanup(self.close)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
