import { readRegistry } from '../../shared/control/generations.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../../infra/service.ts';
import { applied, createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { publish } from './live-traffic.ts';

describe('a build with two projectors', () => {
  const testEnvironment = useOpened(() => createTestEnvironment(2));

  test('ends its load, even if each projector waits for topics that the other applies', async () => {
    // given tickets that refer to contacts, on two partitions each
    const numbers = Array.from({ length: 50 }, (_, index) => index);
    await publish(testEnvironment, [
      ...numbers.map((number) => created('contact', `con_${number}`)),
      ...numbers.map((number) => created('ticket', `ti_${number}`, { requesterId: `con_${number}` })),
    ]);
    const first = await runProjector(testEnvironment);
    await applied(testEnvironment);
    await first.stop();
    // when two projectors build the next generation
    const cli = startService('cli', testEnvironment.environment, ['rebuild', 'start', '--json']);
    expect(await cli.exited).toBe(0);
    const building = { ...testEnvironment, config: { ...testEnvironment.config, GENERATION: 2 } };
    const projectors = await Promise.all([runProjector(building), runProjector(building)]);
    // then it is loaded
    await eventually(
      async () => {
        const registry = await readRegistry(testEnvironment.control);
        return registry?.generations.find(({ number }) => number === 2)?.state === 'ready';
      },
      () => projectors.flatMap(({ fatal }) => fatal),
    );
    const { mongo, name } = testEnvironment;
    expect(await generationDatabase(mongo, name, 2).collection('tickets').countDocuments()).toBe(50);
    await Promise.all(projectors.map((projector) => projector.stop()));
  });
});
