/**
 * Appended to postgresql.conf. `extended_rum` has to be the index handler before any index is created, and bitmap
 * scans have to be off: otherwise no index answers a sort, and a sorted page costs as much as the whole range.
 * `fsync = off` loses data only if the machine loses power, which is acceptable for tests and demonstrations.
 * Killing a process loses nothing: commits still wait for the write-ahead log.
 */
export const postgresSettings = `
listen_addresses = ''
unix_socket_directories = '/data'
max_connections = 200
shared_buffers = 512MB
work_mem = 32MB
maintenance_work_mem = 256MB
dynamic_shared_memory_type = mmap
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 2GB
checkpoint_timeout = 15min
jit = off
max_parallel_workers_per_gather = 0
enable_bitmapscan = off
log_min_messages = error
log_min_error_statement = fatal
shared_preload_libraries = 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum'
cron.database_name = 'postgres'
cron.host = '/data'
cron.log_run = off
cron.log_statement = off
documentdb.localhost_connection_string = 'host=/data'
documentdb.alternate_index_handler_name = 'extended_rum'
documentdb.enable_merge_sort_for_in_prefix = on
`;

export const prepareStatements = [
  'create extension documentdb cascade',
  'create extension documentdb_extended_rum cascade',
];
