/** How the services take an option of the connection string. */
type Rule = {
  /** As the driver spells them. */
  options: string[];
  verdict: 'accepted' | 'ignored' | 'refused';
  /** The values of an accepted option; without a pattern, every value. `values` describes them to an operator. */
  pattern?: RegExp;
  values?: string;
  /** The reason, for an operator. */
  why: string;
};

const atLeastOne = { pattern: /^0*[1-9]\d*$/, values: 'at least 1' };
const isTrue = { pattern: /^true$/, values: 'true' };

/** Options that only code sets: their values are objects or functions, or belong to the driver or to Node's TLS. */
const codeOnly: Rule = {
  options: [
    ...['auth', 'autoEncryption', 'connectionType', 'dbName', 'driverInfo', 'name', 'readConcern'],
    ...['runtimeAdapters', 'serverApi', 'session', 'srvHostValidator', 'srvPoller', 'writeConcern'],
    ...['mongodbLogComponentSeverities', 'mongodbLogMaxDocumentLength', 'mongodbLogPath'],
    ...['__skipPingOnConnect', 'ALPNProtocols', 'SNICallback', 'allowPartialTrustChain', 'ca', 'cert'],
    ...['checkServerIdentity', 'ciphers', 'crl', 'ecdhCurve', 'enableTrace', 'hints', 'index', 'key'],
    ...['keepAliveInitialDelay', 'localAddress', 'localPort', 'lookup', 'minDHSize', 'passphrase', 'pfx'],
    ...['pskCallback', 'rejectUnauthorized', 'requestCert', 'requestOCSP', 'secureContext'],
    ...['secureProtocol', 'servername'],
  ],
  verdict: 'refused',
  why: 'only code can set it, not a connection string',
};

/** Every option that the driver takes from a connection string. A test compares them with the driver's own list. */
export const connectionRules: Rule[] = [
  {
    options: ['w'],
    verdict: 'accepted',
    pattern: /^majority$/,
    values: 'majority',
    why: 'an acknowledged write must survive an election',
  },
  {
    options: ['journal', 'j'],
    verdict: 'accepted',
    ...isTrue,
    why: 'an acknowledged write must survive a crash',
  },
  {
    options: ['wtimeoutMS'],
    verdict: 'accepted',
    ...atLeastOne,
    why: 'with 0 a write would wait for a lost majority forever; the default is 30,000',
  },
  {
    options: ['readConcernLevel'],
    verdict: 'accepted',
    pattern: /^(local|majority)$/,
    values: 'local or majority',
    why: 'reads of the services fail with other levels; the default is local',
  },
  {
    options: ['readPreference', 'readPreferenceTags', 'maxStalenessSeconds'],
    verdict: 'accepted',
    why: 'only the API uses them, to read documents; all other reads go to the primary. Tags and staleness need a preference other than primary',
  },
  {
    options: ['directConnection'],
    verdict: 'accepted',
    why: 'a service refuses a server that is not the primary, because with this option the driver would read from any member',
  },
  {
    options: ['loadBalanced'],
    verdict: 'accepted',
    pattern: /^false$/,
    values: 'false',
    why: 'the driver would not monitor the servers, and each cursor would pin its connection, so a small pool could deadlock',
  },
  {
    options: ['maxPoolSize'],
    verdict: 'accepted',
    pattern: /^(0+|0*([3-9]|[1-9]\d+))$/,
    values: 'at least 3, or 0 for no limit',
    why: 'with fewer, one caller could occupy all connections of the API. The default is 20, or 40 in a projector',
  },
  {
    options: ['minPoolSize'],
    verdict: 'accepted',
    why: 'it must not exceed `maxPoolSize` (20 if that is not set)',
  },
  {
    options: ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'heartbeatFrequencyMS'],
    verdict: 'accepted',
    ...atLeastOne,
    why: "with 0 a service would wait forever for a lost server. These options override the services' own limits",
  },
  {
    options: ['waitQueueTimeoutMS', 'socketTimeoutMS', 'maxAdaptiveRetries'],
    verdict: 'accepted',
    why: 'the services retry an operation that one of them ends. Regardless of them, an API read ends after 10 seconds, a bulk write after 60',
  },
  {
    options: ['retryReads', 'retryWrites'],
    verdict: 'accepted',
    why: 'the services retry operations themselves',
  },
  {
    options: [
      'serverMonitoringMode',
      'minHeartbeatFrequencyMS',
      'localThresholdMS',
      'enableOverloadRetargeting',
    ],
    verdict: 'accepted',
    why: 'they change how soon the driver notices a new primary, and which of several equal servers it selects',
  },
  {
    options: ['compressors'],
    verdict: 'accepted',
    pattern: /^(none|snappy|zlib)(,(snappy|zlib))*$/,
    values: 'none, snappy or zlib',
    why: 'zstd needs a package that is not installed',
  },
  {
    options: ['zlibCompressionLevel'],
    verdict: 'accepted',
    pattern: /^(-1|\d)$/,
    values: 'between -1 and 9',
    why: 'with another level every command fails',
  },
  {
    options: ['authMechanism'],
    verdict: 'accepted',
    pattern: /^(?!GSSAPI$|MONGODB-AWS$)/,
    values: 'other than GSSAPI and MONGODB-AWS',
    why: 'they need packages that are not installed',
  },
  {
    options: [
      ...['authMechanismProperties', 'authSource', 'replicaSet', 'appName'],
      ...['srvAllowedHostsSuffix', 'srvMaxHosts', 'srvServiceName'],
    ],
    verdict: 'accepted',
    why: 'they find the servers, and authenticate the user',
  },
  {
    options: [
      ...['tls', 'ssl', 'tlsCAFile', 'tlsCRLFile'],
      ...['tlsCertificateKeyFile', 'tlsCertificateKeyFilePassword'],
    ],
    verdict: 'accepted',
    why: 'they encrypt the connections, and authenticate both sides',
  },
  {
    options: ['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'],
    verdict: 'accepted',
    why: "they weaken the check of the server's certificate",
  },
  {
    options: [
      ...['maxConnecting', 'maxIdleTimeMS', 'noDelay', 'minInternalBufferSize'],
      ...['family', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'],
    ],
    verdict: 'accepted',
    why: 'they tune connections',
  },
  {
    options: ['timeoutMS', 'monitorCommands'],
    verdict: 'ignored',
    why: 'the driver no longer has `timeoutMS`; the services ignore command events',
  },
  {
    options: [
      ...['bsonRegExp', 'enableUtf8Validation', 'fieldsAsRaw', 'promoteBuffers', 'promoteLongs'],
      ...['promoteValues', 'raw', 'useBigInt64'],
    ],
    verdict: 'refused',
    why: 'they change the form of the documents that the services read',
  },
  {
    options: ['checkKeys', 'forceServerObjectId', 'ignoreUndefined', 'pkFactory', 'serializeFunctions'],
    verdict: 'refused',
    why: 'they change documents and filters: with ignoreUndefined, a filter on an undefined value would match every document',
  },
  {
    options: ['fsync', 'wtimeout'],
    verdict: 'refused',
    why: 'they are old names: use journal and wtimeoutMS',
  },
  {
    options: ['proxyHost', 'proxyPassword', 'proxyPort', 'proxyUsername'],
    verdict: 'refused',
    why: 'a proxy needs a package that is not installed',
  },
  codeOnly,
];

/** The rules that docs/mongodb.md lists. */
export const documentedRules = connectionRules.filter((rule) => rule !== codeOnly);

const ruleOf = new Map(
  connectionRules.flatMap((rule) =>
    rule.options.map((name) => [name.toLowerCase(), { ...rule, name }] as const),
  ),
);

/**
 * Why a value of an option is refused; null if it is accepted. The driver itself refuses names that it does not know.
 */
export function optionError(lowerCaseName: string, value: string): string | null {
  const rule = ruleOf.get(lowerCaseName);
  if (rule?.verdict === 'refused') return `its option ${rule.name} is refused: ${rule.why}`;
  if (!rule?.pattern || rule.pattern.test(value)) return null;
  return `its option ${rule.name} must be ${rule.values}: ${rule.why}`;
}
