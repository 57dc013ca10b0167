import { dayMs } from '../../../shared/documents/instant.ts';
import { batchBytesMax } from '../../../shared/kafka/codecs.ts';
import type { TopicSettings } from '../../../shared/kafka/topic-settings.ts';
import { before, type Changes, facts, factsOf, gap, safeTopic } from '../../../tests/support/facts.ts';
import type { Facts } from '../facts.ts';
import { evaluateRules, type Finding } from '../findings.ts';

function findingsFor(kafka: Partial<Facts['kafka']>, changes: Changes = {}): Finding[] {
  const active = factsOf(1, 'active', changes);
  return evaluateRules(facts([active], { kafka: { ...facts([]).kafka, ...kafka } }));
}
const findingsForSettings = (changes: Partial<TopicSettings>) =>
  findingsFor({ settings: [{ ...safeTopic, ...changes }] });
const textsOf = (rule: string, findings: Finding[]) =>
  findings.filter(({ name }) => name === rule).map(({ text }) => text);

test.each<Partial<TopicSettings>>([
  // Without the policy `delete` the limits have no effect.
  { retentionMs: 20_000, retentionBytes: 9 },
  { cleanupPolicy: 'compact,delete' },
  { maxMessageBytes: batchBytesMax },
])('a topic with %j is no finding', (changes) => expect(findingsForSettings(changes)).toEqual([]));

/** An unsafe setting, words of its finding, and the setting that the fix makes. */
test.each<[Partial<TopicSettings>, string, string]>([
  [
    { cleanupPolicy: 'compact,delete', retentionMs: dayMs },
    'tags: deletes records after 1 day (retention.ms=86400000), and also the last one',
    'cleanup.policy=compact',
  ],
  [
    { cleanupPolicy: 'delete, compact', retentionBytes: 9 },
    'beyond retention.bytes=9',
    'cleanup.policy=compact',
  ],
  [{ cleanupPolicy: 'delete' }, 'tags: is not compacted', 'cleanup.policy=compact'],
  [{ deleteRetentionMs: 2 * dayMs }, 'tags: drops tombstones', 'delete.retention.ms=259200000'],
  [{ allowsUncleanElection: true }, 'those records are lost', 'unclean.leader.election.enable=false'],
  [
    { maxMessageBytes: batchBytesMax + 1 },
    'accepts batches of up to 67108865 bytes',
    'max.message.bytes=67108864',
  ],
])('a topic with %j is a finding with the command that corrects it', (changes, text, setting) => {
  const [first, ...others] = findingsForSettings(changes);
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
  const findings = findingsFor({ log: logFrom(0) }, { generation: { state: 'building', loadTo } });
  expect(textsOf('load', findings)).toEqual([
    expect.stringMatching(/^the load of t\/0 ends at offset 10, but its log ends at 9:/),
    expect.stringMatching(/^the load of t\/1 ends at offset 10, but its log ends at 0:/),
  ]);
});

const partition0 = { topic: 't', partition: 0 };
/** An operator has accepted that the log begins at offset 3. */
const acceptedFrom3: Changes = {
  generation: {
    accepted: [
      {
        finding: 'truncated',
        at: before(1),
        by: 'ann',
        why: 'tests',
        seen: [],
        beginnings: [{ ...partition0, low: 3 }],
      },
    ],
  },
};
/** The generation was built while the log began at offset 3. */
const builtFrom3: Changes = { generation: { loadTo: [{ ...partition0, low: 3, end: 9 }] } };

test.each<{ generation: string; low: number; changes: Changes }>([
  { generation: 'read a complete log', low: 0, changes: {} },
  { generation: 'has a gap that reports it', low: 3, changes: { gaps: [gap] } },
  { generation: 'has an acceptance of it', low: 3, changes: acceptedFrom3 },
  { generation: 'was built without it', low: 3, changes: builtFrom3 },
])('the beginning of a log is no finding if the generation $generation', ({ low, changes }) => {
  expect(textsOf('log-beginnings', findingsFor({ log: logFrom(low) }, changes))).toEqual([]);
});

test.each<{ generation: string; low: number; changes: Changes; text: string }>([
  { generation: 'read', low: 3, changes: {}, text: 'the log of t/0 begins at offset 3, not 0: retention' },
  {
    generation: 'was accepted with',
    low: 4,
    changes: acceptedFrom3,
    text: 'begins at offset 4, not 3, as was accepted',
  },
  { generation: 'was built from', low: 4, changes: builtFrom3, text: 'begins at offset 4, not 3' },
])(
  'a log is a finding if it has lost records at the beginning that the generation $generation',
  ({ low, changes, text }) => {
    expect(textsOf('log-beginnings', findingsFor({ log: logFrom(low) }, changes))).toEqual([
      expect.stringContaining(text),
    ]);
  },
);
