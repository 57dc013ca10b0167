import { MongoBinary } from 'mongodb-memory-server-core';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

// Downloads the `mongod` of a version, the only argument. `mongod.ts` runs it as a process of its own, so the
// variable below concerns only the download. Prints only the reason of a failure.

// Without this variable, the library accepts any certificate. npm sets it from the user's configuration.
process.env.npm_config_strict_ssl ??= 'true';
const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('pass the version of MongoDB');
try {
  await MongoBinary.getPath({ version });
} catch (error) {
  process.stderr.write(errorMessage(error).replaceAll(/\s+/g, ' '));
  process.exitCode = 1;
}
