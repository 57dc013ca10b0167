#!/bin/sh
# Writes .env with new passwords, and .certificate with a certificate for the proxy, as docker-compose.yml expects them.
# Refuses to replace them, because the servers keep the passwords of their first start. Needs openssl.
set -eu
cd "$(dirname "$0")/../.."
for path in .env .certificate; do
  if [ -e "$path" ]; then
    echo "$path exists already. To begin again, run: docker compose down, then remove .env and .certificate" >&2
    exit 1
  fi
done
umask 077
mkdir .certificate
# openssl writes its progress to stderr, so the script prints stderr only if openssl fails.
if ! output=$(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=localhost \
  -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout .certificate/proxy.pem.key -out .certificate/proxy.pem \
  2>&1); then
  rm -r .certificate
  echo "$output" >&2
  exit 1
fi
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
cat >.env <<END
KAFKA_PASSWORD=$(password)
STORE_PASSWORD=$(password)
RATE_LIMIT_PASSWORD=$(password)
GRAFANA_PASSWORD=$(password)
PROXY_USER=$(id -u):$(id -g)
END
echo 'Wrote .env and .certificate. Now run: docker compose up --build --wait'
