import { connectionStringError } from './connection-string.ts';

const errorOf = (options: string) => connectionStringError(`mongodb://user:secret@host/?${options}`);

test.each([
  ['w=1', 'option w must be majority'],
  ['journal=false', 'option journal must be true'],
  ['j=false', 'option j must be true'],
  ['readConcernLevel=linear', 'option readConcernLevel must be local or majority'],
  ['compressors=snappy,zstd', 'option compressors must be none, snappy or zlib'],
  ['authMechanism=GSSAPI', 'option authMechanism must be other than GSSAPI'],
  ['fsync=false', 'option fsync is refused'],
  ['wtimeoutMS=0', 'option wtimeoutMS must be at least 1'],
  ['wtimeout=5', 'option wtimeout is refused'],
  ['loadBalanced=true', 'option loadBalanced must be false'],
  ['maxPoolSize=1', 'option maxPoolSize must be at least 3'],
  ['maxpoolsize=02', 'option maxPoolSize must be at least 3'],
  ['serverSelectionTimeoutMS=0', 'option serverSelectionTimeoutMS must be at least 1'],
  ['connectTimeoutMS=0', 'option connectTimeoutMS must be at least 1'],
  ['heartbeatFrequencyMS=0', 'option heartbeatFrequencyMS must be at least 1'],
  ['zlibCompressionLevel=10', 'option zlibCompressionLevel must be between -1 and 9'],
  ['ignoreUndefined=true', 'option ignoreUndefined is refused'],
  ['promoteLongs=false', 'option promoteLongs is refused'],
  ['raw=true', 'option raw is refused'],
  ['readConcern=majority', 'option readConcern is refused'],
  ['pkFactory=1', 'option pkFactory is refused'],
  ['rejectUnauthorized=false', 'option rejectUnauthorized is refused'],
  ['mongodbLogPath=stdout', 'option mongodbLogPath is refused'],
  ['proxyHost=p', 'option proxyHost is refused'],
  ['minPoolSize=30', 'option minPoolSize must not exceed maxPoolSize, which is 20 by default'],
  ['minPoolSize=9&maxPoolSize=8', 'option minPoolSize must not exceed maxPoolSize'],
  ['maxPoolSize=many', 'option maxPoolSize must be at least 3'],
  ['serverSelectionTimeoutMS=-1', 'option serverSelectionTimeoutMS must be'],
  ['readPreference=nearby', 'Invalid read preference mode "nearby"'],
  ['maxStalenessSeconds=90', 'option maxStalenessSeconds needs a readPreference other than primary'],
  ['readPreferenceTags=dc:a', 'option readPreferenceTags needs a readPreference other than primary'],
  ['tlsCAFile=/nowhere.pem', 'the file of its option tlsCAFile cannot be read'],
  ['maxPoolsize=5&colour=red', 'option colour is not supported'],
  ['appName=a&appName=b', 'appName'],
])('an invalid option is named, without the password: %s', (options, expected) => {
  expect(errorOf(options)).toContain(expected);
  expect(errorOf(options)).not.toContain('secret');
});

test.each([
  ['an unescaped @', 'mongodb://user:se@cret@host/'],
  ['an unescaped /', 'mongodb://user:se/cret@host/'],
  ['an unescaped ?', 'mongodb://user:se?cret=1@host/'],
  ['a stray %', 'mongodb://user:se%zzcret@host/'],
  ['no @ after it', 'mongodb://user:secret'],
])('a password with %s is not repeated', (_, url) => {
  expect(connectionStringError(url)).toMatch(/./);
  expect(connectionStringError(url)).not.toMatch(/secret|cret|zz/);
});

test.each([
  [''],
  ['w=majority&journal=true&retryWrites=true&appName=x&serverSelectionTimeoutMS=100&wtimeoutMS=100'],
  ['retryWrites=false&retryReads=false&serverMonitoringMode=poll&localThresholdMS=0&maxAdaptiveRetries=9'],
  ['directConnection=true&socketTimeoutMS=100&waitQueueTimeoutMS=0&monitorCommands=true&loadBalanced=false'],
  ['minPoolSize=30&maxPoolSize=30'],
  ['minPoolSize=30&maxPoolSize=0'],
  ['compressors=snappy,zlib&readConcernLevel=majority&authMechanism=SCRAM-SHA-256&authSource=admin'],
  ...['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'].map((mode) => [
    `readPreference=${mode}`,
  ]),
  ['readPreference=nearest&readPreferenceTags=dc:a&readPreferenceTags=&maxStalenessSeconds=90'],
])('valid options are accepted: %s', (options) => {
  expect(errorOf(options)).toBeNull();
});
