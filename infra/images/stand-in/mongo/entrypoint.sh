#!/bin/sh
# Serves MongoDB's protocol with FerretDB over PostgreSQL; mongod's own options are ignored.
set -eu
setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/18/bin/postgres -D /data &
postgres=$!
until [ "$(sed -n '8s/ *$//p' /data/postmaster.pid 2>/dev/null)" = ready ]; do
  kill -0 "$postgres"
  sleep 0.1
done
exec ferretdb --postgresql-url='postgres://postgres@/postgres?host=/data&pool_max_conns=100' \
  --listen-addr=0.0.0.0:27017 --no-auth --telemetry=disable --debug-addr=- --state-dir=/tmp --log-level=ERROR
