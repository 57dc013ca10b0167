import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { installPythonPackages, type PythonPackages } from '../support/python-packages.ts';

export const generatorVersion = '7.26.0';
const pythonGeneratorVersion = '0.29.1';

/** The packages of the generators and of the Python clients. One of the packages contains OpenAPI Generator's jar. */
export const installGenerators = (report: (line: string) => void): Promise<PythonPackages> =>
  installPythonPackages(report, `client-generators-${generatorVersion}-${pythonGeneratorVersion}`, [
    `openapi-generator-cli==${generatorVersion}`,
    `openapi-python-client==${pythonGeneratorVersion}`,
    'pydantic==2.14.4',
    'python-dateutil==4.0.0',
    'urllib3==2.8.0',
  ]);

const document = resolve('openapi.json');

/** Generates a client in a folder for each name, with the default settings of OpenAPI Generator. */
export async function generateClients(packages: PythonPackages, folder: string, names: string[]) {
  const configurations = names.map((name) => {
    const file = join(folder, `${name}.json`);
    const settings = {
      inputSpec: document,
      generatorName: name,
      outputDir: join(folder, name),
      additionalProperties: { packageName: 'support' },
    };
    writeFileSync(file, JSON.stringify(settings));
    return file;
  });
  const jar = join(packages.folder, 'openapi_generator_cli', 'openapi-generator.jar');
  await mustRun('java', ['-jar', jar, 'batch', '--fail-fast', ...configurations]);
}

/** Generates the package `support_client` in a folder with openapi-python-client. */
export async function generatePythonClient({ folder: packages, env }: PythonPackages, folder: string) {
  mkdirSync(folder, { recursive: true });
  const options = ['--path', document, '--output-path', join(folder, 'support_client'), '--meta', 'none'];
  const path = `${join(packages, 'bin')}:${process.env.PATH}`;
  await mustRun('python3', ['-m', 'openapi_python_client', 'generate', '--fail-on-warning', ...options], {
    env: { ...env, PATH: path },
  });
}
