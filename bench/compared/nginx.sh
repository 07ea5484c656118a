#!/bin/sh
# Two workers of nginx that compress a file, and a benchmark of them.
seq 8000 >file.txt
cat >nginx.conf <<END
daemon off; worker_processes 2; pid nginx.pid; error_log stderr error;
events { worker_connections 256; }
http {
    access_log off; gzip on; gzip_types text/plain;
    server { listen 127.0.0.1:17002; root $PWD; }
}
END
nginx -p "$PWD" -c nginx.conf &
until [ -s nginx.pid ]; do sleep 0.1; done
ab -q -n 4000 -c 10 -H 'Accept-Encoding: gzip' http://127.0.0.1:17002/file.txt >/dev/null
nginx -p "$PWD" -c nginx.conf -s quit
wait
