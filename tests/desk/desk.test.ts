import { deadLettersOf } from '../../services/projector/dead-letters/dead-letters.ts';
import { registerCodecs } from '../../services/projector/kafka/codecs.ts';
import { generateDesk, type DeskBatch } from '../../infra/demo/desk/desk.ts';
import type { DeskRecord } from '../../infra/demo/desk/encode.ts';
import { liveChanges } from '../../infra/demo/desk/live.ts';
import { publishDesk, publishRecords } from '../../infra/demo/desk/publish.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { applied, createRig, runProjector } from '../support/projectors.ts';
import type { Event } from '../support/events.ts';

jest.setTimeout(180_000);

test('a desk, in every codec and content mode, while it is projected and after live changes, is what its log folds to', async () => {
  const rig = await createRig();
  registerCodecs();
  const log: DeskRecord[] = [];
  const desk = generateDesk({ seed: 11, size: 'small' });
  const bus = { producer: rig.producer, prefix: rig.config.TOPIC_PREFIX };
  const projector = await runProjector(rig);
  try {
    await publishDesk(bus, noted(desk.batches, log));
    const changes = liveChanges(desk.state);
    for (let turn = 0; turn < 40; turn++) {
      const records = Array.from({ length: 5 }, () => changes.next().value).flat();
      log.push(...records);
      await publishRecords(bus, records);
    }
    await applied(rig, () => projector.fatal);
    expect(await deadLettersOf(rig.control).countDocuments()).toBe(0);
    const stored = new Map(Object.entries(await readDocuments(rig.database, { own: { $exists: true } })));
    const expected = fold(log.map(eventOf));
    expect([...stored.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
    for (const [id, document] of expected) expect(stored.get(id)).toEqual(document);
  } finally {
    await projector.stop();
    await rig.close();
  }
});

/** The batches as they pass, their records noted. */
function* noted(batches: Iterable<DeskBatch>, log: DeskRecord[]): Generator<DeskBatch> {
  for (const batch of batches) {
    log.push(...batch.records);
    yield batch;
  }
}

/** The event in a record, read without the projector's parser. */
function eventOf({ kind, key, value, headers }: DeskRecord): Event {
  const body = value === null ? {} : (JSON.parse(value) as Record<string, unknown>);
  const binary = 'ce_type' in headers;
  const attribute = (name: string) => String(binary ? headers[`ce_${name}`] : body[name]);
  const data = (binary ? body : body.data) as Record<string, unknown>;
  if (value === null && !binary) {
    return { kind, id: key, orgId: '', version: 0, op: 'tombstone', time: new Date(0) };
  }
  return {
    kind,
    id: key,
    orgId: attribute('orgid'),
    version: Number(attribute('entityversion')),
    op: attribute('type').split('.')[2] as Event['op'],
    data,
    time: new Date(attribute('time')),
  };
}
