import { parseArguments } from '../command.ts';

const id = 'support.tags/0/17@1795503600000';
const parse = (args: string) => parseArguments(['dead-letters', ...args.split(' ').filter(Boolean)]);
const read = (args: string) => {
  const parsed = parse(args);
  return 'command' in parsed ? parsed.command.options : parsed;
};

describe('the arguments of the dead-letter verbs', () => {
  test('list dead letters by filters', () => {
    const args = 'list --topic support.tags --reason bad_data --key tag_1 --org org_1 --limit 3 --json';
    expect(read(`${args} --since 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00+01:00`)).toEqual({
      filter: {
        topic: 'support.tags',
        reason: 'bad_data',
        key: 'tag_1',
        org: 'org_1',
        since: new Date('2026-01-31T09:00:00Z'),
        until: new Date('2026-01-31T09:00:00Z'),
      },
      limit: 3,
      json: true,
    });
    expect(read('list')).toMatchObject({ filter: {}, limit: 50 });
  });

  test('show one dead letter by its id', () => {
    for (const shown of [id, 'support.tags/0/17@-1', 'support.tags/0/17@1700000000000000000'])
      expect(read(`show ${shown} --raw`)).toMatchObject({ id: shown, raw: true });
  });

  test('redrive and purge dead letters by ids, by filters, or all', () => {
    expect(read(`redrive ${id} ${id} --dry-run`)).toMatchObject({ selection: { ids: [id] }, dryRun: true });
    expect(read('redrive --reason bad_data')).toMatchObject({
      selection: { filter: { reason: 'bad_data' }, limit: Infinity },
    });
    expect(read('purge --all --yes --limit 2')).toMatchObject({
      selection: { filter: {}, limit: 2 },
      yes: true,
    });
  });

  test('skip a record of the log by its place', () => {
    expect(read('skip support.messages/1/8012 --why broken --dry-run --json')).toEqual({
      place: { topic: 'support.messages', partition: 1, offset: 8_012 },
      why: 'broken',
      dryRun: true,
      json: true,
    });
  });

  test.each([
    ['', 'one of list, show, redrive, purge, skip'],
    ['skip support.messages/1 --why broken', 'A record is <topic>/<partition>/<offset>'],
    ['skip support.messages/1/-1 --why broken', 'A record is <topic>/<partition>/<offset>'],
    [`skip ${id} --why broken`, 'has no @<timestamp>'],
    ['skip support.messages/1/8012', "'--why <text>' not specified"],
    ['skip --why broken', "missing required argument 'record'"],
    ['show support.tags/0/17', 'The id of a dead letter is <topic>/<partition>/<offset>@<timestamp>'],
    ['redrive support.tags/x/1@2', 'The id of a dead letter is'],
    ['redrive', 'ids, or filters, or --all'],
    ['purge --limit 3', 'ids, or filters, or --all'],
    [`redrive ${id} --all`, 'ids, or filters, or --all'],
    ['purge --all --reason bad_data', 'ids, or filters, or --all'],
    [`redrive ${id} --limit 1`, '--limit goes with'],
    ['list --all', "unknown option '--all'"],
    ['redrive --all --yes', "unknown option '--yes'"],
    ['list --reason bad', 'Allowed choices are not_json'],
    ['list --reason constructor', 'too_large, refused_by_store'],
    ['list --since yesterday', 'It takes an instant'],
    ['list --until 2026-01-31', 'It takes an instant'],
    ['list --limit 0', 'from 1 to 1000'],
    ['list --limit 1001', 'from 1 to 1000'],
    ['redrive --all --limit 1e2', 'of 1 or more'],
  ])('are a usage error in "%s"', (args, problem) => {
    expect(read(args)).toEqual({ usageError: [expect.stringContaining(problem), expect.any(String)] });
  });
});
