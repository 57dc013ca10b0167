import { MongoBinary } from 'mongodb-memory-server-core';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

// By default the library accepts any certificate. npm sets this variable if its user has decided otherwise.
process.env.npm_config_strict_ssl ??= 'true';
const [version = ''] = process.argv.slice(2);
try {
  await MongoBinary.getPath({ version });
} catch (error) {
  process.stderr.write(errorMessage(error).replaceAll(/\s+/g, ' '));
  process.exitCode = 1;
}
