#!/bin/sh
# The wrapper class of the published image turns KAFKA_* variables into properties, and formats the storage.
set -eu
export CLUSTER_ID="${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}"
# The format fails in a restarted container, whose storage is formatted already.
formatted=$(java -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper setup \
  --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config \
  --final-configs-dir /opt/kafka/config 2>&1) \
  || echo "$formatted" | grep 'already formatted' || { echo "$formatted"; exit 1; }
exec java -Xmx512m -Dlog4j2.configurationFile=/etc/kafka/docker/log4j2.yaml \
  -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
