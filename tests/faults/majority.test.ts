import { randomHistory } from '../convergence/history.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { eventually } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { seed, shortSession } from './use-fault-servers.ts';

describeOnMongo(['mongod'], 'a replica set that loses its majority', () => {
  const replicaSet = useOpened(() => startReplicaSet({ members: 3 }));
  // A `describe` of its own, so that its clients close before MongoDB.
  describe('while a projector works', () => {
    const { environment, publish, applied, startProcess } = useProjector({
      partitions: 2,
      projectors: 0,
      servers: () => ({ KAFKA_BROKERS: process.env.KAFKA_BROKERS ?? '', MONGODB_URL: replicaSet.url }),
    });

    test('loses nothing, and the projector continues by itself when the majority is back', async () => {
      const history = randomHistory(seed + 1, 600);
      const projector = startProcess(shortSession);
      await publish(...history.slice(0, 200));
      await projector.logged('projecting');
      // given two of three members that are killed while records come
      for (const member of replicaSet.members.slice(1)) await member.kill();
      await publish(...history.slice(200));
      await eventually(() => projector.log.some(({ level }) => level === 'warn') || projector.log.length);
      // when they are back
      await replicaSet.mend();
      // then everything is applied, by the same process
      await applied();
      const documents = await readDocuments(environment.database);
      expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(history)) });
    });
  });
});
