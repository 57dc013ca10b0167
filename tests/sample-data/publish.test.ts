import { connectKafka, endOffsets, publishRecords } from '../../infra/sample-data/publish.ts';
import { kinds } from '../../shared/documents/resources.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());

test('the clients of the sample data can publish records while they read the ends of the logs', async () => {
  for (let clients = 0; clients < 10; clients += 1) {
    const kafka = await connectKafka(testEnvironment.variables);
    const publish = async () => {
      for (const kind of kinds.toReversed())
        await publishRecords(kafka, [{ kind, key: 'id_1', value: '{}', headers: {} }]);
    };
    try {
      await Promise.all([endOffsets(kafka.admin, kafka.topics), publish()]);
    } finally {
      await kafka.close();
    }
  }
});
