"""A server whose stream of events is controlled by the test, for what a good one cannot show: breaking."""
import http.server
import json
import queue
import threading


class StreamServer:
    """`streams`: one queue for each connection; texts are sent, None ends the stream."""

    def __init__(self, streams):
        self.streams = [queue.Queue() for _ in range(streams)]
        self.nodes = []
        self.listeners = []  # the Last-Event-ID of each
        self.lists = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith("/api/v2/events"):
                    assert self.headers["Accept"] == "text/event-stream", self.headers
                    self.follow()
                    return
                outer.lists += 1
                self.reply(json.dumps(outer.nodes))

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.reply("[]")

            def reply(self, text):
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def follow(self):
                stream = outer.streams[len(outer.listeners)]
                outer.listeners.append(self.headers.get("Last-Event-ID"))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for text in iter(stream.get, None):
                    self.wfile.write(text.encode())
                    self.wfile.flush()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()
