"""A server with a thread for each request, and 1 000 requests from another process."""
import hashlib
import http.server
import json
import os
import threading
import urllib.request

CLIENTS, REQUESTS = 4, 250


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        digest = b""
        for _ in range(1500):
            digest = hashlib.sha256(digest).digest()
        body = json.dumps([i * i for i in range(2000)]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask(port):
    for _ in range(REQUESTS):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            answer.read()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
child = os.fork()
if not child:
    clients = [threading.Thread(target=ask, args=(server.server_address[1],)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    os._exit(0)
threading.Thread(target=lambda: (os.waitpid(child, 0), server.shutdown()), daemon=True).start()
server.serve_forever()
