"""Two ports of a trainer: 8080 says that it is ready, and 8081 that it is not well."""
import http.server
import threading
import time


def serve(port, status):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    threading.Thread(
        target=http.server.HTTPServer(("", port), Answer).serve_forever, daemon=True
    ).start()


serve(8080, 200)
serve(8081, 503)
print("serving", flush=True)
time.sleep(3600)
