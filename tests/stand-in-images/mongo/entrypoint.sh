#!/bin/bash
# Treats its arguments and MONGO_INITDB_* as the published image does. `mongod` runs as the user mongodb. On an empty
# data folder, the script first runs a `mongod` that no client can reach, and creates the user of the variables.
set -euo pipefail
case "${1:-}" in -*) set -- mongod "$@" ;; esac
if [ "${1:-}" = mongod ]; then
  if [ "$(id -u)" = 0 ]; then
    chown -R mongodb:mongodb /data/db
    exec setpriv --reuid=mongodb --regid=mongodb --init-groups -- "$0" "$@"
  fi
  if [ -n "${MONGO_INITDB_ROOT_USERNAME:-}" ]; then
    if [ ! -e /data/db/WiredTiger ]; then
      mongod --fork --logpath /tmp/initialize.log --bind_ip 127.0.0.1
      HOME=/tmp mongosh --quiet admin --eval '
        const { MONGO_INITDB_ROOT_USERNAME: user, MONGO_INITDB_ROOT_PASSWORD: pwd } = process.env;
        db.createUser({ user, pwd, roles: ["root"] });'
      mongod --shutdown
    fi
    set -- "$@" --auth
  fi
  case " $* " in *' --bind_ip'*) ;; *) set -- "$@" --bind_ip_all ;; esac
fi
exec "$@"
