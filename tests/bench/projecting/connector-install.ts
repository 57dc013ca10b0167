import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, installedOnce } from '../../../infra/dev-servers/native/cache.ts';
import { kafkaVersion } from '../../../infra/dev-servers/native/kafka-settings.ts';
import { javaVersion } from '../../../infra/dev-servers/native/prerequisites.ts';
import { step } from '../../../infra/dev-servers/native/progress.ts';
import { mustRun, run } from '../../../infra/dev-servers/native/run.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

export const connectorVersion = '2.0.1';

/** The SLF4J that Kafka Connect is built against. */
const slf4jVersion = '1.7.36';

const dependency = (group: string, artifact: string, version: string) =>
  `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;

/** The connector depends on an old Kafka, so the pom names Kafka's parts in the current version. */
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>support-read-models</groupId>
  <artifactId>connector</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${dependency('org.mongodb.kafka', 'mongo-kafka-connect', connectorVersion)}
${['kafka-clients', 'connect-api', 'connect-runtime', 'connect-json', 'connect-transforms']
  .map((artifact) => dependency('org.apache.kafka', artifact, kafkaVersion))
  .join('\n')}
${dependency('org.slf4j', 'slf4j-simple', slf4jVersion)}
  </dependencies>
</project>
`;

const folder = () => join(cacheDir(), `mongo-kafka-connect-${connectorVersion}-${kafkaVersion}`);

/** Downloads the jars unless they are cached. Returns their folder, or a clause that says why the connector cannot run. */
export async function installConnector(
  report: (line: string) => void,
): Promise<{ libs: string } | { unavailable: string }> {
  if (javaVersion((await run('java', ['-version'])).output) < 17) return { unavailable: 'needs Java ≥ 17' };
  if (!existsSync(folder()) && !(await run('mvn', ['-v'])).ok) return { unavailable: 'needs Maven' };
  try {
    await installedOnce(folder(), (partial) =>
      step(report, `MongoDB's Kafka connector ${connectorVersion}: fetching (about 38 MB)`, async () => {
        writeFileSync(join(partial, 'pom.xml'), pom);
        const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
        const into = `-DoutputDirectory=${join(partial, 'libs')}`;
        await mustRun('mvn', ['-q', '-B', '-f', join(partial, 'pom.xml'), ...goal, into]);
      }),
    );
  } catch (error) {
    return { unavailable: `could not be fetched: ${errorMessage(error)}` };
  }
  return { libs: join(folder(), 'libs') };
}
