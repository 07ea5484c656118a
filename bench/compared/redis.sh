#!/bin/sh
# A server of redis, and a benchmark of it.
redis-server --port 17001 --save '' >/dev/null &
until redis-cli -p 17001 ping >/dev/null 2>&1; do sleep 0.1; done
redis-benchmark -p 17001 -n 20000 -c 20 -t set,get,lrange_100 -q >/dev/null
redis-cli -p 17001 shutdown nosave
wait
