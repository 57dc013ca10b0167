/** How the services take an option of the connection string. */
type Rule = {
  /** As the driver spells them. */
  options: string[];
  /** `limited`: accepted only with a value that matches `pattern`. `values` describes these values to an operator. */
  verdict: 'accepted' | 'limited' | 'ignored' | 'refused';
  pattern?: RegExp;
  values?: string;
  /** The reason, for an operator. */
  why: string;
};

const atLeastOne = { pattern: /^0*[1-9]\d*$/, values: 'at least 1' };
const isTrue = { pattern: /^true$/, values: 'true' };

/** Every option that the driver takes from a connection string. A test compares them with the driver's own list. */
export const connectionRules: Rule[] = [
  {
    options: ['w'],
    verdict: 'limited',
    pattern: /^majority$/,
    values: 'majority',
    why: 'an acknowledged write must survive an election',
  },
  {
    options: ['journal', 'j'],
    verdict: 'limited',
    ...isTrue,
    why: 'an acknowledged write must survive a crash',
  },
  {
    options: ['wtimeoutMS'],
    verdict: 'limited',
    ...atLeastOne,
    why: 'with 0 a write would wait for a lost majority forever; the default is 30,000',
  },
  {
    options: ['readConcernLevel'],
    verdict: 'limited',
    pattern: /^(local|majority)$/,
    values: 'local or majority',
    why: 'the other levels refuse reads of the services; the default is local',
  },
  {
    options: ['readPreference', 'readPreferenceTags', 'maxStalenessSeconds'],
    verdict: 'accepted',
    why: 'select where the API reads its data; everything else connects to the primary. Tags and staleness need a preference other than primary',
  },
  {
    options: ['directConnection'],
    verdict: 'accepted',
    why: 'a server that is not the primary is refused: the driver would read from any member',
  },
  {
    options: ['loadBalanced'],
    verdict: 'limited',
    pattern: /^false$/,
    values: 'false',
    why: 'the driver would not monitor the servers, and a cursor would keep its connection: a small pool would wait for itself',
  },
  {
    options: ['maxPoolSize'],
    verdict: 'limited',
    pattern: /^(0+|0*([3-9]|[1-9]\d+))$/,
    values: 'at least 3, or 0 for no limit',
    why: 'one caller would hold every connection of the API; the default is 20, and 40 for a projector',
  },
  { options: ['minPoolSize'], verdict: 'accepted', why: 'at most `maxPoolSize`, 20 without it' },
  {
    options: ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'heartbeatFrequencyMS'],
    verdict: 'limited',
    ...atLeastOne,
    why: 'with 0 the services would wait for a lost server without a limit. They replace the limits of the services',
  },
  {
    options: ['waitQueueTimeoutMS', 'socketTimeoutMS', 'maxAdaptiveRetries'],
    verdict: 'accepted',
    why: 'a read of the API ends after ten seconds, and a bulk write after 60, whatever they are; an operation that they end early is repeated',
  },
  {
    options: ['retryReads', 'retryWrites'],
    verdict: 'accepted',
    why: 'the services repeat operations themselves',
  },
  {
    options: [
      'serverMonitoringMode',
      'minHeartbeatFrequencyMS',
      'localThresholdMS',
      'enableOverloadRetargeting',
    ],
    verdict: 'accepted',
    why: 'change how soon the driver notices a new primary, and which of several equal servers it takes',
  },
  {
    options: ['compressors'],
    verdict: 'limited',
    pattern: /^(none|snappy|zlib)(,(snappy|zlib))*$/,
    values: 'none, snappy or zlib',
    why: 'zstd needs a package that is not installed',
  },
  {
    options: ['zlibCompressionLevel'],
    verdict: 'limited',
    pattern: /^(-1|\d)$/,
    values: 'between -1 and 9',
    why: 'with another level every command fails',
  },
  {
    options: ['authMechanism'],
    verdict: 'limited',
    pattern: /^(?!GSSAPI$|MONGODB-AWS$)/,
    values: 'other than GSSAPI and MONGODB-AWS',
    why: 'they need packages that are not installed',
  },
  {
    options: [
      ...['authMechanismProperties', 'authSource', 'replicaSet', 'appName'],
      ...['tls', 'ssl', 'tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile', 'tlsCertificateKeyFilePassword'],
      ...['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'],
      ...['srvAllowedHostsSuffix', 'srvMaxHosts', 'srvServiceName'],
    ],
    verdict: 'accepted',
    why: 'identify and authenticate the servers and the user',
  },
  {
    options: [
      ...['maxConnecting', 'maxIdleTimeMS', 'noDelay', 'minInternalBufferSize'],
      ...['family', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'],
    ],
    verdict: 'accepted',
    why: 'tune connections',
  },
  {
    options: ['timeoutMS', 'monitorCommands'],
    verdict: 'ignored',
    why: 'the driver has removed the first; the services do not listen to the second',
  },
  {
    options: [
      ...['bsonRegExp', 'checkKeys', 'enableUtf8Validation', 'fieldsAsRaw', 'forceServerObjectId'],
      ...['ignoreUndefined', 'pkFactory', 'promoteBuffers', 'promoteLongs', 'promoteValues', 'raw'],
      ...['serializeFunctions', 'useBigInt64'],
    ],
    verdict: 'refused',
    why: 'they change the form of documents and filters: with ignoreUndefined a filter by a missing value would find everything',
  },
  { options: ['fsync', 'wtimeout'], verdict: 'refused', why: 'old names: use journal and wtimeoutMS' },
  {
    options: ['proxyHost', 'proxyPassword', 'proxyPort', 'proxyUsername'],
    verdict: 'refused',
    why: 'a proxy needs a package that is not installed',
  },
  {
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
    why: 'they are options of code: a string cannot be their value',
  },
];

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
