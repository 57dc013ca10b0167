import { MongoBinary } from 'mongodb-memory-server-core';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

// Without this variable, the library accepts any certificate. npm sets the variable as its user has configured it.
process.env.npm_config_strict_ssl ??= 'true';
const [version = ''] = process.argv.slice(2);
try {
  await MongoBinary.getPath({ version });
} catch (error) {
  process.stderr.write(errorMessage(error).replaceAll(/\s+/g, ' '));
  process.exitCode = 1;
}
