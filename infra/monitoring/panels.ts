/** A panel: its queries with their legends, in one unit of Grafana. */
export type Panel = {
  title: string;
  /** The question that the panel answers. */
  description: string;
  unit: 'short' | 's' | 'bytes' | 'ops' | 'reqps' | 'percentunit';
  queries: [expr: string, legend: string][];
};

const rate = (counter: string) => `rate(${counter}[$__rate_interval])`;
const quantile = (fraction: number, histogram: string, by: string) =>
  `histogram_quantile(${fraction}, sum by (le, ${by}) (${rate(`${histogram}_bucket`)}))`;
/** The queries for the median and the 99th percentile of a histogram, for each value of a label. */
const quantiles = (histogram: string, by: string): Panel['queries'] => [
  [quantile(0.5, histogram, by), `{{${by}}} median`],
  [quantile(0.99, histogram, by), `{{${by}}} 99 %`],
];
/** Selects the services, because other processes export metrics of the same names. */
const services = '{job=~"support-.*"}';

/** The rows of the dashboard, from the freshness that clients see down to the resources of the processes. */
export const rows: Record<string, Panel[]> = {
  Freshness: [
    {
      title: 'Age of the data',
      description: 'How old is the data that clients get, and that of each generation?',
      unit: 's',
      queries: [
        ['max(api_data_age_seconds)', 'served'],
        ['max by (generation) (projector_watermark_age_seconds)', 'generation {{generation}}'],
      ],
    },
    {
      title: 'Cause that holds the watermark',
      description: 'Why does the watermark lag? docs/metrics.md explains the causes.',
      unit: 's',
      queries: [
        ['max by (generation, cause) (projector_watermark_held_seconds)', '{{generation}} {{cause}}'],
      ],
    },
    {
      title: 'Share of the last 30 days with fresh data',
      description: 'Is the objective met: data younger than 60 s for 99.5 % of the time?',
      unit: 'percentunit',
      queries: [['1 - avg_over_time(support:data_stale:bool[30d])', 'fresh']],
    },
    {
      title: 'Generations',
      description:
        'Which generation does each replica serve, how many are ready, and how many projectors follow each generation?',
      unit: 'short',
      queries: [
        ['api_generation', 'served by {{instance}}'],
        ['sum(api_ready)', 'replicas that are ready'],
        [
          'count by (generation, state) (projector_generation_state)',
          'projectors of {{generation}} ({{state}})',
        ],
      ],
    },
  ],
  Lag: [
    {
      title: 'Lag by topic',
      description: 'How old is the oldest record that is not applied?',
      unit: 's',
      queries: [['max by (generation, topic) (projector_lag_seconds)', '{{generation}} {{topic}}']],
    },
    {
      title: 'Records to apply',
      description: 'How many records lie between the applied positions and the ends of the logs?',
      unit: 'short',
      queries: [['sum by (generation, topic) (projector_lag_records)', '{{generation}} {{topic}}']],
    },
    {
      title: 'Documents that wait for a refresh',
      description: 'Does a large fan-out hold its partition?',
      unit: 'short',
      queries: [['sum by (generation) (projector_fan_out_waiting_documents)', 'generation {{generation}}']],
    },
  ],
  Throughput: [
    {
      title: 'Records',
      description: 'How fast are records fetched and applied?',
      unit: 'ops',
      queries: [
        [`sum by (generation) (${rate('projector_records_fetched_total')})`, '{{generation}} fetched'],
        [`sum by (generation) (${rate('projector_events_total')})`, '{{generation}} applied'],
      ],
    },
    {
      title: 'Stages of a record',
      description: 'Where does a record wait on its way to readers?',
      unit: 's',
      queries: quantiles('projector_stage_duration_seconds', 'stage'),
    },
    {
      title: 'Duration of a batch',
      description: 'Which topics are slow to apply?',
      unit: 's',
      queries: quantiles('projector_batch_duration_seconds', 'topic'),
    },
    {
      title: 'Records of a batch',
      description: 'Are batches large enough to be cheap?',
      unit: 'short',
      queries: [[quantile(0.5, 'projector_batch_records', 'generation'), '{{generation}} median']],
    },
    {
      title: 'Documents reconciled again',
      description: 'Do workers contend for the same documents?',
      unit: 'ops',
      queries: [
        [`sum by (kind, cause) (${rate('projector_reconciles_repeated_total')})`, '{{kind}} {{cause}}'],
      ],
    },
  ],
  Errors: [
    {
      title: 'Records and documents that could not be applied',
      description:
        'Which records became dead letters, arrived late, met a foreign commit, or left a document out of date?',
      unit: 'ops',
      queries: [
        [`sum by (topic, reason) (${rate('projector_dead_letters_total')})`, '{{topic}} {{reason}}'],
        [`sum by (topic) (${rate('projector_late_events_total')})`, '{{topic}} late'],
        [`sum by (topic) (${rate('projector_foreign_commits_total')})`, '{{topic}} foreign commits'],
        [`sum by (kind) (${rate('projector_not_refreshed_total')})`, '{{kind}} not refreshed'],
        [`sum by (kind) (${rate('api_documents_left_out_total')})`, '{{kind}} left out of lists'],
      ],
    },
    {
      title: 'Sweeps that fail',
      description: 'Does data past its retention stay in MongoDB?',
      unit: 'short',
      queries: [['max by (generation) (projector_sweep_failing)', 'generation {{generation}}']],
    },
    {
      title: 'Topics that lose records',
      description: 'Which topics lose records that a rebuild needs, and how?',
      unit: 'short',
      queries: [
        [
          'max by (generation, topic, reason) (projector_topic_loses_records) > 0',
          '{{generation}} {{topic}} {{reason}}',
        ],
      ],
    },
    {
      title: 'Dead letters',
      description: 'Which records stand unapplied, until an operator redrives or purges them?',
      unit: 'short',
      queries: [
        [
          'max by (generation, topic, reason) (projector_dead_letters_unapplied) > 0',
          '{{generation}} {{topic}} {{reason}}',
        ],
      ],
    },
    {
      title: 'Bytes of dead letters',
      description:
        'How much of its share do the bytes of dead letters take, of the fullest topic? Beyond it, they are not stored.',
      unit: 'percentunit',
      queries: [['max by (generation) (projector_dead_letters_filled_ratio)', 'generation {{generation}}']],
    },
    {
      title: 'Requests that the API refused',
      description: 'Does the API lack MongoDB, memory or connections?',
      unit: 'reqps',
      queries: [
        [`sum(${rate('api_store_errors_total')})`, 'MongoDB could not be read'],
        [`sum by (reason) (${rate('api_requests_refused_total')})`, 'limit of {{reason}}'],
        [`sum(${rate('api_connections_refused_total')})`, 'limit of connections'],
      ],
    },
    {
      title: 'Invalid keys, unshared limits, lost traces and log lines',
      description:
        'Does a client guess keys, is the rate limit store away, or are request traces or log lines lost?',
      unit: 'reqps',
      queries: [
        [`sum by (reason) (${rate('api_auth_failures_total')})`, 'key {{reason}}'],
        [`sum(${rate('api_rate_limit_fallbacks_total')})`, 'rate limit not shared'],
        [`sum by (reason) (${rate('api_request_traces_lost_total')})`, 'trace lost: {{reason}}'],
        [`sum by (job) (${rate('support_log_lines_lost_total')})`, '{{job}}: log lines lost'],
      ],
    },
  ],
  'Requests and limits': [
    {
      title: 'Requests',
      description: 'How many requests are answered, and how?',
      unit: 'reqps',
      queries: [[`sum by (status) (${rate('api_request_duration_seconds_count')})`, '{{status}}']],
    },
    {
      title: 'Duration of a request',
      description: 'Which routes are slow?',
      unit: 's',
      queries: quantiles('api_request_duration_seconds', 'route'),
    },
    {
      title: 'Requests and reads in progress',
      description: 'Do reads wait for memory or a connection?',
      unit: 'short',
      queries: [
        ['sum(api_requests_in_flight)', 'requests'],
        ['sum(api_reads_in_progress)', 'reads'],
        ['sum(api_reads_waiting)', 'reads that wait'],
      ],
    },
    {
      title: 'Memory of responses',
      description: 'How much of API_ANSWERS_MB_MAX is in use?',
      unit: 'bytes',
      queries: [['api_answers_bytes', '{{instance}}']],
    },
  ],
  Resources: [
    {
      title: 'Memory',
      description: 'Is a process near the limit of its container?',
      unit: 'bytes',
      queries: [[`process_resident_memory_bytes${services}`, '{{job}} {{instance}}']],
    },
    {
      title: 'Processor',
      description: 'Does a process use a whole core? Then start another.',
      unit: 'percentunit',
      queries: [[rate(`process_cpu_seconds_total${services}`), '{{job}} {{instance}}']],
    },
    {
      title: 'Delay of the event loop',
      description: 'Is a process too busy to answer in time?',
      unit: 's',
      queries: [[`nodejs_eventloop_lag_p99_seconds${services}`, '{{job}} {{instance}}']],
    },
    {
      title: 'Connections to MongoDB',
      description: 'Is a pool too small, or MongoDB too slow?',
      unit: 'short',
      queries: [
        ['sum by (job, pool, state) (support_mongodb_connections)', '{{job}} {{pool}} {{state}}'],
        ['sum by (job, pool) (support_mongodb_checkouts_waiting)', '{{job}} {{pool}} waiting'],
      ],
    },
    {
      title: 'Time until the certificate expires',
      description: 'Was the certificate renewed? Empty if a proxy terminates TLS.',
      unit: 's',
      queries: [['(api_tls_certificate_not_after_timestamp_seconds > 0) - time()', '{{instance}}']],
    },
  ],
};
