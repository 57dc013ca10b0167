import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Document, MongoClient } from 'mongodb';
import { MongoMemoryServer } from 'mongodb-memory-server-core';
import { freePort } from '../../infra/dev-servers/native/ports.ts';
import { startCommand } from '../../infra/service.ts';
import { eventually, notYet, succeeds } from './eventually.ts';
import { describeUnless } from './unless-missing.ts';

/**
 * The members elect another primary about this long after the last sign of life of their primary. MongoDB's default is
 * 10 s.
 */
const electionTimeoutMs = 2_000;

type Program = 'mongod' | 'mongos';

/** The program that the variable `MONGOD` or `MONGOS` or the PATH names; null if the machine lacks it. */
export function findProgram(name: Program): { path: string; version: string } | null {
  const lines = 'command -v "$0" && "$0" --version';
  const named = process.env[name.toUpperCase()] || name;
  const { stdout } = spawnSync('sh', ['-c', lines, named], { encoding: 'utf8' });
  const [, path, version] = /^(.+)\n[^]*version v(\d+\.\d+\.\d+)/.exec(stdout) ?? [];
  return path && version ? { path, version } : null;
}

/** `describe` on real MongoDB servers. If the machine lacks a program, jest skips the tests. */
export function describeOnMongo(programs: Program[], name: string, body: () => void): void {
  const missing = programs.filter((program) => findProgram(program) === null);
  const variables = missing.map((program) => program.toUpperCase()).join(' and ');
  const reason = `no ${missing.join(', no ')}; set ${variables}, or the PATH`;
  describeUnless(missing.length === 0 ? null : reason, name, body);
}

/** A `mongod` that a test may kill or pause. Its port and its data stay the same. */
type Member = Awaited<ReturnType<typeof startMember>>;

async function startMember(setName: string, args: string[]) {
  const program = findProgram('mongod');
  if (!program) throw new Error('there is no mongod');
  const server = await MongoMemoryServer.create({
    binary: { systemBinary: program.path, version: program.version },
    instance: {
      replSet: setName,
      storageEngine: 'wiredTiger',
      launchTimeout: 180_000,
      args: [
        ...['--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '256', '--nounixsocket'],
        ...['ttlMonitorSleepSecs=1', 'diagnosticDataCollectionEnabled=false'].flatMap((setting) => [
          '--setParameter',
          setting,
        ]),
        ...args,
      ],
    },
  });
  const { instance, port } = server.instanceInfo ?? {};
  if (!instance || !port) throw new Error('the mongod has no port');
  const signal = (name: NodeJS.Signals) => instance.mongodProcess?.kill(name);
  const admin = <T>(run: AdminCommands<T>, limitMs?: number) => asAdmin(port, run, limitMs);
  return {
    host: `127.0.0.1:${port}`,
    admin,
    isPaused: false,
    isKilled: false,
    async kill() {
      const ended = instance.mongodProcess && once(instance.mongodProcess, 'close');
      this.isKilled = true;
      signal('SIGKILL');
      await ended;
      await instance.stop();
    },
    pause() {
      this.isPaused = signal('SIGSTOP') === true;
    },
    resume() {
      this.isPaused = !signal('SIGCONT');
    },
    async restart() {
      await instance.start();
      this.isKilled = false;
    },
    async stop() {
      signal('SIGCONT');
      await server.stop();
    },
  };
}

type AdminCommands<T> = (admin: ReturnType<MongoClient['db']>) => Promise<T>;

/** Runs commands on one server, which must accept a connection within the limit. */
async function asAdmin<T>(port: number, run: AdminCommands<T>, limitMs = 30_000): Promise<T> {
  await using client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: limitMs,
    connectTimeoutMS: limitMs,
  });
  return await run(client.db('admin'));
}

type SetOptions = { members: number; setName?: string; args?: string[]; config?: Document };

/** A replica set whose members a test may kill, pause and restart, and whose primary may step down. */
export async function startReplicaSet({
  members: count,
  setName = 'rs',
  args = [],
  config = {},
}: SetOptions) {
  const members = await Promise.all(Array.from({ length: count }, () => startMember(setName, args)));
  const [first] = members as [Member, ...Member[]];
  const hosts = members.map(({ host }, _id) => ({ _id, host, tags: { member: String(_id) } }));
  const settings = { electionTimeoutMillis: electionTimeoutMs };
  await first.admin((admin) =>
    admin.command({ replSetInitiate: { _id: setName, ...config, settings, members: hosts } }),
  );
  const primary = () => findPrimary(members);
  await primary();
  const url = `mongodb://${hosts.map(({ host }) => host).join()}/?replicaSet=${setName}`;
  return {
    url,
    setName,
    members,
    /** Resolves with the primary, once there is one. */
    primary,
    /** Repeats `run` until the same member is the primary before and after it. */
    underOnePrimary: async <T>(run: (primary: Member) => Promise<T>): Promise<T> => {
      for (;;) {
        const before = await primary();
        const result = await run(before);
        if ((await primary()) === before) return result;
      }
    },
    /**
     * Lets the primary step down, once every member has caught up with it. Resolves when another member is primary.
     * Afterwards the members may elect the former primary again: otherwise, after three step-downs within a minute,
     * they could elect no member.
     */
    stepDown: async () => {
      await caughtUp(url, count);
      const former = await primary();
      await former.admin((admin) => admin.command({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 30 }));
      await primary();
      await former.admin((admin) => admin.command({ replSetFreeze: 0 }));
    },
    /** Resumes and restarts every member. Resolves when one member is primary and the others have caught up with it. */
    restore: async () => {
      const paused = members.filter(({ isPaused }) => isPaused);
      for (const member of paused) member.resume();
      await Promise.all(members.filter(({ isKilled }) => isKilled).map((member) => member.restart()));
      await caughtUp(url, count);
    },
    close: async () => {
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}

type ReplicaSet = Awaited<ReturnType<typeof startReplicaSet>>;

/**
 * Resolves once every member has a write of the primary. Each attempt has a limit: a member that was paused still
 * copies from its former source, which may no longer be the primary.
 */
const caughtUp = (url: string, members: number) =>
  eventually(async () => {
    await using client = new MongoClient(url, { serverSelectionTimeoutMS: 1_000 });
    const marks = client.db('harness').collection('marks');
    const writeConcern = { w: members, wtimeoutMS: 5_000 };
    return await succeeds(marks.insertOne({}, { writeConcern }));
  });

/** How a member describes itself; an error instead if it does not answer. */
const helloOf = (member: Member): Promise<Hello> =>
  member
    .admin((admin) => admin.command({ hello: 1 }), 1_000)
    .then(
      ({ isWritablePrimary, electionId }) => ({
        isWritablePrimary: isWritablePrimary === true,
        electionId: String(electionId),
      }),
      (error: unknown) => ({ isWritablePrimary: false, electionId: String(error) }),
    );

type Hello = { isWritablePrimary: boolean; electionId: string };

/**
 * After a pause, a member may take itself for the primary for a moment. The winner of the latest election is the
 * primary.
 */
async function findPrimary(members: Member[]): Promise<Member> {
  let found: Member | undefined;
  await eventually(async () => {
    const running = members.filter(({ isPaused, isKilled }) => !isPaused && !isKilled);
    const states = await Promise.all(
      running.map(async (member) => ({ member, hello: await helloOf(member) })),
    );
    const primaries = states.filter(({ hello }) => hello.isWritablePrimary);
    const newestFirst = primaries.toSorted((a, b) => (a.hello.electionId < b.hello.electionId ? 1 : -1));
    found = newestFirst[0]?.member;
    return found !== undefined || notYet(states.map(({ hello }) => hello));
  });
  return found as Member;
}

/** A sharded cluster behind one `mongos`; each shard is a replica set of the given size. */
export async function startShardedCluster({ shards: sizes }: { shards: number[] }) {
  const mongos = findProgram('mongos');
  if (!mongos) throw new Error('there is no mongos');
  const [configServer, ...shards] = await Promise.all([
    startReplicaSet({ members: 1, setName: 'config', args: ['--configsvr'], config: { configsvr: true } }),
    ...sizes.map((members, index) =>
      startReplicaSet({ members, setName: `shard${index}`, args: ['--shardsvr'] }),
    ),
  ]);
  const hostsOf = ({ setName, members: all }: ReplicaSet) =>
    `${setName}/${all.map(({ host }) => host).join()}`;
  const port = await freePort();
  const router = startCommand(
    [mongos.path, '--configdb', hostsOf(configServer), '--port', String(port), '--bind_ip', '127.0.0.1'],
    {},
    'mongos',
    { linesMax: 100 },
  );
  await eventually(() => succeeds(asAdmin(port, (admin) => admin.command({ ping: 1 }))));
  for (const shard of shards) await asAdmin(port, (admin) => admin.command({ addShard: hostsOf(shard) }));
  return {
    url: `mongodb://127.0.0.1:${port}/`,
    shards,
    close: async () => {
      await router.stop('SIGTERM', 10_000);
      await Promise.all([configServer, ...shards].map((set) => set.close()));
    },
  };
}
