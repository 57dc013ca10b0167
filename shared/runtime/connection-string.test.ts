import { connectionStringError } from './connection-string.ts';

const errorOf = (options: string) => connectionStringError(`mongodb://user:secret@host/?${options}`);

it.each([
  ['w=1', 'option w must be majority'],
  ['journal=false', 'option journal must be true'],
  ['j=false', 'option j must be true'],
  ['readConcernLevel=linear', 'option readconcernlevel must be local or majority'],
  ['compressors=snappy,zstd', 'option compressors must be none, snappy or zlib'],
  ['authMechanism=GSSAPI', 'option authmechanism must be other than GSSAPI'],
  ['minPoolSize=30', 'option minPoolSize must not exceed maxPoolSize, which is 20 by default'],
  ['minPoolSize=9&maxPoolSize=8', 'option minPoolSize must not exceed maxPoolSize'],
  ['maxPoolSize=many', 'Expected maxPoolSize to be'],
  ['serverSelectionTimeoutMS=-1', 'serverSelectionTimeoutMS can only be'],
  ['readPreference=nearby', 'Invalid read preference mode "nearby"'],
  ['maxStalenessSeconds=90', 'option maxStalenessSeconds needs a readPreference other than primary'],
  ['readPreferenceTags=dc:a', 'option readPreferenceTags needs a readPreference other than primary'],
  ['tlsCAFile=/nowhere.pem', 'the file of its option tlsCAFile cannot be read'],
  ['maxPoolsize=5&colour=red', 'option colour is not supported'],
  ['appName=a&appName=b', 'appName'],
])('an option that cannot hold is named, without the password: %s', (options, expected) => {
  expect(errorOf(options)).toContain(expected);
  expect(errorOf(options)).not.toContain('secret');
});

it.each([
  ['an unescaped @', 'mongodb://user:se@cret@host/'],
  ['an unescaped /', 'mongodb://user:se/cret@host/'],
  ['an unescaped ?', 'mongodb://user:se?cret=1@host/'],
  ['a stray %', 'mongodb://user:se%zzcret@host/'],
  ['no @ after it', 'mongodb://user:secret'],
])('a password with %s is not repeated', (_, url) => {
  expect(connectionStringError(url)).toMatch(/./);
  expect(connectionStringError(url)).not.toMatch(/secret|cret|zz/);
});

it.each([
  [''],
  ['w=majority&journal=true&retryWrites=true&appName=x&serverSelectionTimeoutMS=100&wtimeoutMS=0'],
  ['minPoolSize=30&maxPoolSize=30'],
  ['minPoolSize=30&maxPoolSize=0'],
  ['compressors=snappy,zlib&readConcernLevel=majority&authMechanism=SCRAM-SHA-256&authSource=admin'],
  ...['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'].map((mode) => [
    `readPreference=${mode}`,
  ]),
  ['readPreference=nearest&readPreferenceTags=dc:a&readPreferenceTags=&maxStalenessSeconds=90'],
])('options that hold are accepted: %s', (options) => {
  expect(errorOf(options)).toBeNull();
});
