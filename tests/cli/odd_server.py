"""A server that does what a good one does not, and records its requests."""
import http.server
import threading


class OddServer:
    """`answers`: for each request in turn (status, headers, body); the last one stays."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []  # (method, path, headers, body)
        odd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                odd.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
                status, headers, body = odd.answers[0] if len(odd.answers) == 1 else odd.answers.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
