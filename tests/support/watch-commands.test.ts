import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCommand } from '../../infra/service.ts';
import { allOrganizations } from '../../shared/store/all-organizations.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { withoutOrganization } from './watch-commands.ts';

const ticket = { _id: 'ti_1', orgId: 'org_1' };
const named = { orgId: { $in: ['org_1', 'org_2'] } };

it.each([
  ['find', { filter: ticket }],
  ['find', { filter: {}, comment: allOrganizations.comparison }],
  ['find', { find: 'dead_letters', filter: {} }],
  ['aggregate', { pipeline: [{ $match: named }, { $count: 'n' }] }],
  ['count', {}],
  ['insert', { documents: [ticket] }],
  ['update', { updates: [{ q: ticket }, { q: named }] }],
  ['delete', { deletes: [{ q: named }] }],
  ['createIndexes', { indexes: [] }],
])('%s %j may go to a sharded cluster', (name, command) => {
  expect(withoutOrganization(name, 'support_g2', { [name]: 'tickets', ...command })).toBeNull();
});

it.each([
  ['find', { filter: { _id: 'ti_1' } }, 'find tickets by _id'],
  ['find', { filter: { _id: 'ti_1' }, comment: 'other' }, 'find tickets by _id'],
  ['find', { filter: { orgId: { $ne: 'org_1' } } }, 'find tickets by orgId'],
  ['aggregate', { pipeline: [{ $count: 'n' }] }, 'aggregate tickets by nothing'],
  ['insert', { documents: [ticket, { _id: 'ti_2', orgId: null }] }, 'insert tickets by _id,orgId'],
  ['update', { updates: [{ q: ticket }, { q: { _id: 'ti_2' } }] }, 'update tickets by _id'],
  ['delete', { deletes: [{ q: {} }] }, 'delete tickets by nothing'],
])('%s %j names no organization', (name, command, expected) => {
  expect(withoutOrganization(name, 'support_g2', { [name]: 'tickets', ...command })).toBe(expected);
});

describe('a command without organization', () => {
  const { COMMANDS_WITHOUT_ORGANIZATION: before } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'support-read-models-watched-'));
  const path = join(folder, 'commands');
  beforeAll(() => (process.env.COMMANDS_WITHOUT_ORGANIZATION = path));
  afterAll(() => {
    process.env.COMMANDS_WITHOUT_ORGANIZATION = before;
    rmSync(folder, { recursive: true });
  });
  const url = process.env.MONGODB_URL ?? '';

  it('is recorded if a client of the services in this process sends it', async () => {
    const mongo = createMongo(url, 'test');
    await mongo.db('watched_g1').collection('tickets').findOne({ title: 'Broken' });
    await mongo.close();
    expect(readFileSync(path, 'utf8')).toContain('test: find tickets by title\n');
  });

  it('is recorded if a process of the services sends it', async () => {
    const script = `
      import { createMongo } from './shared/store/connection.ts';
      const mongo = createMongo(process.env.MONGODB_URL, 'child');
      await mongo.db('watched_g1').collection('messages').deleteMany({});
      await mongo.close();`;
    const command = [process.execPath, '--input-type=module', '--eval', script];
    expect(await startCommand(command, { MONGODB_URL: url }, 'a script').exited).toBe(0);
    expect(readFileSync(path, 'utf8')).toContain('child: delete messages by nothing\n');
  });
});
