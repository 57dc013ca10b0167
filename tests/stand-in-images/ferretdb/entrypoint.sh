#!/bin/sh
# Serves MongoDB's protocol with FerretDB on PostgreSQL. Creates the user that the published image's variables name.
# Ignores the options of mongod.
set -eu
setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/18/bin/postgres -D /data &
postgres=$!
until [ "$(sed -n '8s/ *$//p' /data/postmaster.pid 2>/dev/null)" = ready ]; do
  kill -0 "$postgres"
  sleep 0.1
done
roles='[{"role": "clusterAdmin", "db": "admin"}, {"role": "readWriteAnyDatabase", "db": "admin"}]'
user="{\"createUser\": \"$MONGO_INITDB_ROOT_USERNAME\", \"pwd\": \"$MONGO_INITDB_ROOT_PASSWORD\", \"roles\": $roles}"
# After a restart the user already exists, so a failure is ignored.
/usr/lib/postgresql/18/bin/psql --host=/data --username=postgres --dbname=postgres --quiet \
  --command="SELECT documentdb_api.create_user('$user')" >/dev/null || true
exec ferretdb --postgresql-url='postgres://postgres@/postgres?host=/data&pool_max_conns=100' \
  --listen-addr=0.0.0.0:27017 --telemetry=disable --debug-addr=- --state-dir=/tmp --log-level=ERROR
