import type { TopicSettings } from '../../../shared/kafka/topic-settings.ts';
import { before, type Changes, facts, factsOf, gap, safeTopic } from '../../../tests/support/facts.ts';
import type { Facts } from '../facts.ts';
import { evaluateRules } from '../findings.ts';

const found = (kafka: Partial<Facts['kafka']>, changes: Changes = {}) =>
  evaluateRules(facts([factsOf(1, 'active', changes)], { kafka: { ...facts([]).kafka, ...kafka } }));
const withSettings = (changes: Partial<TopicSettings>) => found({ settings: [{ ...safeTopic, ...changes }] });

test.each<Partial<TopicSettings>>([
  // Without the policy `delete` the limits have no effect.
  { retentionMs: 20_000, retentionBytes: 9 },
  { cleanupPolicy: 'compact,delete' },
  { maxMessageBytes: 67_108_864 },
])('a topic with %j is no finding', (changes) => expect(withSettings(changes)).toEqual([]));

/** An unsafe setting, words of its finding, and the setting that the fix makes. */
test.each<[Partial<TopicSettings>, string, string]>([
  [
    { cleanupPolicy: 'compact,delete', retentionMs: 86_400_000 },
    'tags: deletes records after 1 day (retention.ms=86400000), and also the last one',
    'cleanup.policy=compact',
  ],
  [
    { cleanupPolicy: 'delete, compact', retentionBytes: 9 },
    'beyond retention.bytes=9',
    'cleanup.policy=compact',
  ],
  [{ cleanupPolicy: 'delete' }, 'tags: is not compacted', 'cleanup.policy=compact'],
  [{ deleteRetentionMs: 172_800_000 }, 'tags: drops tombstones', 'delete.retention.ms=259200000'],
  [{ allowsUncleanElection: true }, 'those records are lost', 'unclean.leader.election.enable=false'],
  [{ maxMessageBytes: 67_108_865 }, 'accepts batches of up to 67108865 bytes', 'max.message.bytes=67108864'],
])('a topic with %j is a finding with the command that corrects it', (changes, text, setting) => {
  const [first, ...others] = withSettings(changes);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ name: 'topics', severity: 'attention' });
  expect(first?.text).toContain(text);
  expect(first?.fix).toContain(`--alter --entity-type topics --entity-name tags --add-config ${setting}`);
});

/** A log of one partition, from an offset to 9. */
const logFrom = (low: number) => {
  const ends = new Map([['t/0', { low, end: 9, stable: 9 }]]);
  return { partitions: ['t/0'], ends, leaderEpochs: new Map(), topicIds: new Map(), unreachable: [] };
};

test('a load cannot end if its partition is gone or shorter than at the start', () => {
  const loadTo = [0, 1].map((partition) => ({ topic: 't', partition, low: 0, end: 10 }));
  const texts = found({ log: logFrom(0) }, { generation: { state: 'building', loadTo } });
  expect(texts.flatMap(({ name, text }) => (name === 'load' ? text.split(':')[0] : []))).toEqual([
    'the load of t/0 ends at offset 10, but its log ends at 9',
    'the load of t/1 ends at offset 10, but its log ends at 0',
  ]);
});

test('a log without its beginning is named unless an operator has accepted it or a gap reports it', () => {
  const lost = (low: number, changes: Changes = {}) =>
    found({ log: logFrom(low) }, changes).flatMap(({ name, text }) =>
      name === 'log-beginnings' ? [text] : [],
    );
  const range = { topic: 't', partition: 0 };
  expect(lost(0)).toEqual([]);
  expect(lost(3)).toEqual([expect.stringContaining('the log of t/0 begins at offset 3, not 0: retention')]);
  expect(lost(3, { gaps: [gap] })).toEqual([]);
  const acceptance = { finding: 'truncated' as const, at: before(1), by: 'ann', why: 'tests', seen: [] };
  const accepted = { generation: { accepted: [{ ...acceptance, beginnings: [{ ...range, low: 3 }] }] } };
  expect([lost(3, accepted), lost(4, accepted)]).toEqual([
    [],
    [expect.stringContaining('begins at offset 4, not 3, as was accepted')],
  ]);
  const built = { generation: { loadTo: [{ ...range, low: 3, end: 9 }] } };
  expect([lost(3, built), lost(4, built)]).toEqual([[], [expect.anything()]]);
});
