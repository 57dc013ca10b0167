import { parseCommand } from '../command.ts';

const id = 'support.tags/0/17';
const read = (words: string) => parseCommand(['dead-letters', ...words.split(' ').filter(Boolean)]);

describe('the words for dead letters', () => {
  it('list by filters', () => {
    const words = 'list --topic support.tags --reason bad_data --key tag_1 --org org_1 --limit 3 --json';
    expect(read(`${words} --since 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00+01:00`)).toEqual({
      verb: 'dead-letters list',
      filter: {
        topic: 'support.tags',
        reason: 'bad_data',
        key: 'tag_1',
        orgId: 'org_1',
        since: new Date('2026-01-31T09:00:00Z'),
        until: new Date('2026-01-31T09:00:00Z'),
      },
      limit: 3,
      json: true,
    });
    expect(read('list')).toMatchObject({ filter: {}, limit: 50, json: false });
  });

  it('name one to show', () => {
    expect(read(`show ${id} --raw`)).toEqual({ verb: 'dead-letters show', id, raw: true, json: false });
  });

  it('re-drive and purge what is named, filtered, or all', () => {
    expect(read(`redrive ${id} ${id} --dry-run`)).toMatchObject({ selection: { ids: [id] }, dryRun: true });
    expect(read('redrive --reason bad_data')).toMatchObject({
      selection: { filter: { reason: 'bad_data' }, limit: Infinity },
      dryRun: false,
    });
    expect(read('purge --all --yes --limit 2')).toMatchObject({
      selection: { filter: {}, limit: 2 },
      yes: true,
    });
  });

  it.each([
    ['', 'list, show, redrive or purge'],
    ['constructor', 'list, show, redrive or purge'],
    ['show', 'one id'],
    [`show ${id} ${id}`, 'one id'],
    ['show support.tags/0', 'no id of a dead letter'],
    ['redrive support.tags/x/1', 'no id of a dead letter'],
    [`list ${id}`, 'takes filters'],
    ['redrive', 'ids, or filters, or --all'],
    ['purge --limit 3', 'ids, or filters, or --all'],
    [`redrive ${id} --all`, 'ids, or filters, or --all'],
    ['purge --all --reason bad_data', 'ids, or filters, or --all'],
    [`redrive ${id} --limit 1`, '--limit goes with'],
    ['list --all', '--all does not go with dead-letters list'],
    ['redrive --all --yes', '--yes does not go with dead-letters redrive'],
    ['purge --all --dry-run', '--dry-run does not go with dead-letters purge'],
    ['list --reason bad', 'one of not_json'],
    ['list --reason constructor', 'too_large, refused_by_store'],
    ['list --org acme', '--org'],
    ['list --since yesterday', '--since takes an instant'],
    ['list --until 2026-01-31', '--until takes an instant'],
    ['list --limit 0', '--limit takes'],
    ['list --limit 1001', '1000 at most'],
    ['list --limit 1e2', '--limit takes'],
    ['list --colour', '--colour'],
    ['list --key', '--key'],
  ])('are at fault in "%s"', (words, fault) => {
    expect(read(words)).toEqual({ fault: expect.stringContaining(fault) as string });
  });

  it('give the usage when it is asked for', () => {
    expect(read('redrive --help')).toEqual({ verb: 'help' });
  });
});
