/** Options of the connection string that the services take. They refuse every other option. */
type OptionRule = {
  /** As the driver spells them. */
  options: string[];
  /** The allowed values; without a pattern, every value. `values` describes them to an operator. */
  pattern?: RegExp;
  values?: string;
  /** The reason, for an operator. */
  why: string;
};

const atLeastOne = { pattern: /^0*[1-9]\d*$/, values: 'at least 1' };
const isTrue = { pattern: /^true$/, values: 'true' };

/**
 * An option that a later driver adds is refused until it stands here: it may change the form of documents or filters.
 * With `ignoreUndefined`, for example, a filter on an undefined value would match every document.
 */
export const connectionRules: OptionRule[] = [
  {
    options: ['w'],
    pattern: /^majority$/,
    values: 'majority',
    why: 'an acknowledged write must survive an election',
  },
  { options: ['journal', 'j'], ...isTrue, why: 'an acknowledged write must survive a crash' },
  {
    options: ['wtimeoutMS'],
    ...atLeastOne,
    why: 'with 0 a write would wait for a lost majority forever; the default is 30,000',
  },
  {
    options: ['readConcernLevel'],
    pattern: /^(local|majority)$/,
    values: 'local or majority',
    why: 'reads of the services fail with other levels; the default is local',
  },
  {
    options: ['readPreference', 'readPreferenceTags', 'maxStalenessSeconds'],
    why: 'only the API uses them, to read documents; all other reads go to the primary. Tags and staleness need a preference other than primary',
  },
  {
    options: ['directConnection'],
    why: 'a service refuses a server that is not the primary, because with this option the driver would read from any member',
  },
  {
    options: ['loadBalanced'],
    pattern: /^false$/,
    values: 'false',
    why: 'the driver would not monitor the servers, and each cursor would pin its connection, so a small pool could deadlock',
  },
  {
    options: ['maxPoolSize'],
    pattern: /^(0+|0*([3-9]|[1-9]\d+))$/,
    values: 'at least 3, or 0 for no limit',
    why: 'with fewer, one caller could occupy all connections of the API. The default is 20, or 40 in a projector',
  },
  { options: ['minPoolSize'], why: 'it must not exceed `maxPoolSize` (20 if that is not set)' },
  {
    options: ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'heartbeatFrequencyMS'],
    ...atLeastOne,
    why: "with 0 a service would wait forever for a lost server. These options override the services' own limits",
  },
  {
    options: ['waitQueueTimeoutMS', 'socketTimeoutMS', 'maxAdaptiveRetries'],
    why: 'the services retry an operation that one of them ends. Regardless of them, an API read ends after 10 seconds, a bulk write after 60',
  },
  { options: ['retryReads', 'retryWrites'], why: 'the services retry operations themselves' },
  {
    options: [
      'serverMonitoringMode',
      'minHeartbeatFrequencyMS',
      'localThresholdMS',
      'enableOverloadRetargeting',
    ],
    why: 'they change how soon the driver notices a new primary, and which of several equal servers it selects',
  },
  {
    options: ['compressors'],
    pattern: /^(none|snappy|zlib)(,(snappy|zlib))*$/,
    values: 'none, snappy or zlib',
    why: 'zstd needs a package that is not installed',
  },
  {
    options: ['zlibCompressionLevel'],
    pattern: /^(-1|\d)$/,
    values: 'between -1 and 9',
    why: 'with another level every command fails',
  },
  {
    options: ['authMechanism'],
    pattern: /^(?!GSSAPI$|MONGODB-AWS$)/,
    values: 'other than GSSAPI and MONGODB-AWS',
    why: 'they need packages that are not installed',
  },
  {
    options: [
      ...['authMechanismProperties', 'authSource', 'replicaSet', 'appName'],
      ...['srvAllowedHostsSuffix', 'srvMaxHosts', 'srvServiceName'],
    ],
    why: 'they find the servers, and authenticate the user',
  },
  {
    options: [
      ...['tls', 'ssl', 'tlsCAFile', 'tlsCRLFile'],
      ...['tlsCertificateKeyFile', 'tlsCertificateKeyFilePassword'],
    ],
    why: 'they encrypt the connections, and authenticate both sides',
  },
  {
    options: ['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'],
    why: "they weaken the check of the server's certificate",
  },
  {
    options: [
      ...['maxConnecting', 'maxIdleTimeMS', 'noDelay', 'minInternalBufferSize'],
      ...['family', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'],
    ],
    why: 'they tune connections',
  },
  {
    options: ['timeoutMS', 'monitorCommands'],
    why: 'they have no effect: the driver no longer has `timeoutMS`; the services ignore command events',
  },
];

const ruleOf = new Map(
  connectionRules.flatMap((rule) =>
    rule.options.map((name) => [name.toLowerCase(), { ...rule, name }] as const),
  ),
);

/** Whether the services take an option. */
export const isTaken = (lowerCaseName: string): boolean => ruleOf.has(lowerCaseName);

/** Why a value of an option is refused; null if it is allowed, or if the services do not take the option. */
export function valueError(lowerCaseName: string, value: string): string | null {
  const rule = ruleOf.get(lowerCaseName);
  if (!rule?.pattern || rule.pattern.test(value)) return null;
  return `its option ${rule.name} must be ${rule.values}: ${rule.why}`;
}
