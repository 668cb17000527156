/**
 * Owns: the server as a process: how it starts, is told to stop, dies, and what is left. Does not own: random deaths
 * (`crash.test.ts`), or servers on a given database (`server/test/integration`).
 */
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import {
  lastMessage,
  startScriptedProvider,
  type ScriptedProvider,
} from '../../server/test/support/scripted-provider.ts';
import { brokenLaws, ofKind } from '../support/journal-laws.ts';
import type { Api } from '../support/api.ts';
import { openSocket } from '../support/socket.ts';
import { signal, within } from '../support/process.ts';
import {
  become,
  embeddedServerOf,
  makePlace,
  processesIn,
  removePlace,
  spawnWeir,
  startWeir,
  untilGone,
  type Place,
  type Weir,
  type WeirOptions,
} from '../support/weir.ts';

const cleanup: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

async function provide(): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider();
  cleanup.push(() => provider.close());
  return provider;
}

function newPlace(): Place {
  const place = makePlace();
  cleanup.push(() => removePlace(place));
  return place;
}

async function running(options: WeirOptions, place = newPlace()): Promise<Weir> {
  const weir = await startWeir(options, place);
  cleanup.push(() => weir.kill('SIGKILL'));
  return weir;
}

async function restarted(weir: Weir, options?: WeirOptions): Promise<Weir> {
  const next = await weir.restart(options);
  cleanup.push(() => next.kill('SIGKILL'));
  return next;
}

const asNobody = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--'];
const shell = (command: string) => ({ call: { name: 'shell', arguments: { command } } });
const sleeper = 'echo running; sleep 97; echo done';

describe('told to stop in mid-turn', () => {
  for (const by of ['SIGINT', 'SIGTERM'] as const) {
    it(`exits 0 within 10 s on ${by}, tells sockets to come back, and carries the answer on at the next start (D-70)`, async () => {
      const provider = await provide();
      provider.script([
        { stream: ['It was a dark ', { gate: 'half' }, 'and stormy night.'] },
        { when: (body) => lastMessage(body).content === 'Tell me a story.', stream: ['Once upon a time.'] },
      ]);
      const weir = await running({ provider });
      const token = await weir.signIn();
      const api = weir.api(token);
      const id = await api.create();
      await api.send(id, 'Tell me a story.');
      await api.waitFor(id, (view) => view.overlay.message?.text === 'It was a dark ', 'the first half');
      const socket = await openSocket(weir.url, token);
      const feed = api.follow(id, null);
      await feed.until((events) => events.some((e) => e.item.type === 'Synchronized'), 'Synchronized');

      const told = performance.now();
      const exit = await weir.kill(by);
      expect(performance.now() - told).toBeLessThan(10_000);
      expect(exit).toEqual({ code: 0, signal: null });
      expect(await socket.closed).toEqual({ code: 1012, reason: 'The server restarts; reconnect.' });
      expect(await feed.ended).toMatchObject({ type: 'Network' });
      expect(embeddedServerOf(weir.place)).toBeNull();

      const next = await restarted(weir);
      const { view, entries } = await next.api(token).waitForState(id, 'IDLE');
      expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
      expect(ofKind(entries, 'ASSISTANT').map((e) => e.text)).toEqual(['Once upon a time.']);
      expect(ofKind(entries, 'RECOVERY')).toHaveLength(1);
      expect(brokenLaws(entries, { settled: true })).toEqual([]);
      provider.assertDone();
    });
  }

  it('stops in order also when told the moment its link is out', async () => {
    const weir = spawnWeir(newPlace());
    cleanup.push(() => weir.kill('SIGKILL'));
    await weir.printed(/#code=/);
    expect(await weir.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('ends the commands that run, and says at the next start that their effect is unknown (D-9)', async () => {
    const provider = await provide();
    provider.script([{ stream: [shell(sleeper)] }, { stream: ['I saw.'] }]);
    const weir = await running({ provider });
    const token = await weir.signIn();
    const { id, workspace } = await runCommand(weir, token);
    expect(await weir.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(processesIn(workspace)).toEqual([]);

    const next = await restarted(weir);
    const { view, entries } = await next.api(token).waitForState(id, 'IDLE');
    expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
    expect(ofKind(entries, 'TOOL')).toMatchObject([{ effect: 'UNKNOWN' }]);
    provider.assertDone();
  });
});

/** A workstream whose approved command has said its first word. */
async function runCommand(weir: Weir, token: string): Promise<{ id: string; workspace: string }> {
  const api = weir.api(token);
  const id = await api.create();
  await api.send(id, 'Run it.');
  const [question] = await api.questions(id);
  expect(await api.decide(id, question!, 'APPROVED')).toMatchObject({ durability: 'DURABLE' });
  const { view } = await api.waitFor(
    id,
    ({ overlay }) => overlay.tools[question!.callId]?.text === 'running\n',
    'output of the command',
  );
  return { id, workspace: view.projection.configuration.workspace };
}

describe('killed', () => {
  it.runIf(process.platform === 'linux')(
    'leaves a command running only until the next start, which ends it before the turn goes on (D-70)',
    async () => {
      const provider = await provide();
      provider.script([{ stream: [shell(sleeper)] }, { stream: ['I saw.'] }]);
      const weir = await running({ provider });
      const token = await weir.signIn();
      const { id, workspace } = await runCommand(weir, token);
      await weir.kill('SIGKILL');
      const left = processesIn(workspace);
      expect(left).not.toEqual([]);

      const next = await restarted(weir);
      await provider.waitForRequest(2);
      expect(processesIn(workspace)).toEqual([]);
      await Promise.all(left.map((pid) => untilGone(pid)));
      const { entries } = await next.api(token).waitForState(id, 'IDLE');
      expect(ofKind(entries, 'TOOL')).toMatchObject([{ effect: 'UNKNOWN', outcome: 'CANCELED' }]);
      expect(brokenLaws(entries, { settled: true })).toEqual([]);
      provider.assertDone();
    },
  );

  describe.runIf(process.platform === 'linux')('while a command it was forced to give up still runs', () => {
    const stubborn = "trap '' TERM; echo running; sleep 97; sleep 97";
    /** What happens between the forced Stop and the kill, so that no turn tells of the command any more. */
    const forms: readonly [string, (api: Api, id: string) => Promise<void>][] = [
      ['at once', () => Promise.resolve()],
      [
        'after another turn',
        async (api, id) => {
          await api.send(id, 'And now?');
          await api.waitForState(id, 'IDLE');
        },
      ],
      [
        'after the turn was taken out',
        async (api, id) => {
          const { view, entries } = await api.waitForState(id, 'IDLE');
          const [message] = ofKind(entries, 'USER');
          const input = {
            key: crypto.randomUUID(),
            workstreamId: id,
            messageId: message!.id,
            turnId: view.base.turn!.id,
          };
          const { data, errors } = await api.query(
            'mutation($input: RewindWorkstreamInput!) { rewindWorkstream(input: $input) { __typename } }',
            { input },
          );
          expect({ data, errors }).toEqual({
            data: { rewindWorkstream: { __typename: 'RewindWorkstreamPayload' } },
            errors: [],
          });
        },
      ],
    ];
    it.each(forms)(
      'ends it at the next start, without anybody asking: %s (D-66, D-70)',
      async (_, between) => {
        const provider = await provide();
        provider.respond((body) =>
          lastMessage(body).content === 'Run it.' ? { stream: [shell(stubborn)] } : { stream: ['Well.'] },
        );
        const weir = await running({ provider });
        const api = weir.api(await weir.signIn());
        const { id, workspace } = await runCommand(weir, api.token);
        const { data } = await api.query(
          'mutation($input: StopTurnInput!) { stopTurn(input: $input) { __typename } }',
          { input: { key: crypto.randomUUID(), workstreamId: id, force: true } },
        );
        expect(data).toEqual({ stopTurn: { __typename: 'StopTurnPayload' } });
        await between(api, id);
        await weir.kill('SIGKILL');
        const left = processesIn(workspace);
        expect(left).not.toEqual([]);
        await restarted(weir);
        await within(
          10_000,
          () => `${left.join(', ')} to end`,
          Promise.all(left.map((pid) => untilGone(pid))),
        );
      },
    );
  });

  it('finds an open question where it was, under the same ids, and takes the answer (I44)', async () => {
    const provider = await provide();
    provider.script([{ stream: [shell('echo hello > greeting.txt')] }, { stream: ['Done.'] }]);
    const weir = await running({ provider });
    const token = await weir.signIn();
    const api = weir.api(token);
    const id = await api.create();
    await api.send(id, 'Greet me.');
    const [before] = await api.questions(id);
    await weir.kill('SIGKILL');

    const next = await restarted(weir);
    const again = next.api(token);
    const [after] = await again.questions(id);
    expect(after).toEqual(before);
    expect(await again.decide(id, before!, 'APPROVED')).toMatchObject({ durability: 'DURABLE' });
    const { entries } = await again.waitForState(id, 'IDLE');
    expect(ofKind(entries, 'TOOL')).toMatchObject([{ outcome: 'OK', effect: 'COMMITTED' }]);
    provider.assertDone();
  });
});

describe('when its database server is killed in mid-turn', () => {
  it('brings it back by itself, loses nothing and ends the turn (D-50)', async () => {
    const provider = await provide();
    provider.script([
      { stream: ['First half, ', { gate: 'half' }, 'second half. ', shell('echo once >> log.txt')] },
      { stream: ['Done.'] },
    ]);
    const weir = await running({ provider });
    const token = await weir.signIn();
    const api = weir.api(token);
    const id = await api.create();
    const sent = await api.send(id, 'Go.');
    expect(sent).toMatchObject({ durability: 'DURABLE' });
    await provider.waitForGate('half');

    const database = embeddedServerOf(weir.place);
    expect(signal(database!, 'SIGKILL')).toBe(true);
    provider.release('half');
    const [question] = await api.questions(id);
    expect(embeddedServerOf(weir.place)).not.toBe(database);
    expect(await api.decide(id, question!, 'APPROVED')).toMatchObject({ durability: 'DURABLE' });
    const { view } = await api.waitForState(id, 'IDLE');
    expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
    expect(view.persistence).toMatchObject({ status: 'HEALTHY' });
    const entries = await api.history(id);
    expect(ofKind(entries, 'USER')).toMatchObject([{ id: sent.messageId, revision: sent.revision }]);
    expect(brokenLaws(entries, { settled: true })).toEqual([]);
    expect(weir.isRunning()).toBe(true);
    provider.assertDone();
  });
});

describe.runIf(process.platform === 'linux')('while its database is frozen', () => {
  it('lets Stop through over HTTP: the command ends at once (D-1), and strangers are told to wait', async () => {
    const provider = await provide();
    provider.script([{ stream: [{ call: { name: 'shell', arguments: { command: 'sleep 300' } } }] }]);
    const weir = await running({ provider });
    const token = await weir.signIn();
    const api = weir.api(token);
    const id = await api.create({ workspace: weir.place.workspaces });
    await api.send(id, 'sleep');
    const [question] = await api.questions(id);
    await api.decide(id, question!, 'APPROVED');
    const runs = (): boolean => processesIn(weir.place.workspaces).length > 0;
    while (!runs()) await delay(20);

    const thaw = freeze(embeddedServerOf(weir.place)!);
    try {
      // Older than what is remembered without asking.
      await delay(5_500);
      const began = performance.now();
      const stopping = api.stop(id);
      while (runs()) await delay(20);
      expect(performance.now() - began).toBeLessThan(4_000);
      const stranger = await weir.api('weir_unknown').query('{ __typename }');
      expect(stranger).toMatchObject({
        status: 503,
        errors: [{ extensions: { code: 'STORAGE_UNAVAILABLE' } }],
      });
      expect(await stopping).toMatchObject({ durability: 'PENDING' });
    } finally {
      thaw();
    }
    const { view } = await api.waitForState(id, 'IDLE');
    expect(view.projection.turn?.outcome).toMatchObject({ type: 'CANCELED' });
    expect(brokenLaws(await api.history(id), { settled: true })).toEqual([]);
    provider.assertDone();
  });
});

/** Stops a process and its children where they are; the returned function lets them go on. */
function freeze(pid: number): () => void {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number);
  const all = [pid, ...children];
  for (const each of all) process.kill(each, 'SIGSTOP');
  return () => {
    for (const each of all) signal(each, 'SIGCONT');
  };
}

function parentOf(pid: string): number | null {
  try {
    return Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]);
  } catch {
    return null;
  }
}

describe('when its data folder is deleted under it', () => {
  /** Not Node's rmSync: it stops half-way, silently, when the database deletes a file of its own meanwhile. */
  const remove = (path: string): void => {
    // A database that is starting makes files while they are removed; then what is left is removed again.
    for (let tries = 1; ; tries += 1)
      try {
        return void execFileSync('rm', ['-rf', path], { stdio: 'pipe' });
      } catch (error) {
        if (tries === 20) throw error;
      }
  };

  it('calls nothing durable any more, ends with a sentence, and makes no empty folder in its place (D-3)', async () => {
    const weir = await running({});
    const api = weir.api(await weir.signIn());
    const id = await api.create();
    const database = embeddedServerOf(weir.place);
    remove(weir.place.data);
    const answers = await Promise.allSettled([api.send(id, 'say: hello'), api.tryCreate({})]);
    for (const answer of answers)
      if (answer.status === 'fulfilled') expect(answer.value.durability).not.toBe('DURABLE');
    expect(await weir.exited).toEqual({ code: 1, signal: null });
    expect(weir.output()).toMatch(/was deleted, moved or replaced while Weir was running.*start again/);
    await untilGone(database);
    expect(existsSync(weir.place.data)).toBe(false);
  });

  it('ends with a sentence also when that happens while it starts', async () => {
    const place = newPlace();
    await (await running({}, place)).kill('SIGTERM');
    const pidFile = join(place.data, 'postgres/postmaster.pid');
    const child = spawnWeir(place);
    cleanup.push(() => child.kill('SIGKILL'));
    while (!existsSync(pidFile) || !readFileSync(pidFile, 'utf8').includes('ready')) await delay(1);
    remove(place.data);
    expect(await within(60_000, () => 'the end', child.exited)).toEqual({ code: 1, signal: null });
    expect(child.output()).toContain('was deleted, moved or replaced while Weir was running');
    // No stack trace.
    expect(child.output()).not.toMatch(/^\s+at /m);
  });

  it('notices it within seconds also when nobody asks anything of it', async () => {
    const weir = await running({});
    remove(weir.place.data);
    expect(await within(20_000, () => 'the end', weir.exited)).toEqual({ code: 1, signal: null });
    expect(existsSync(weir.place.data)).toBe(false);
  });
});

describe('refuses to start', () => {
  for (const data of process.platform === 'linux' ? ['/proc/weir', '/proc', '/etc/hostname'] : [])
    it(`on ${data}, where no data folder can be, at once and with one sentence that says what to do (broke: it span for ever)`, async () => {
      const weir = spawnWeir(newPlace(), { env: { WEIR_DATA: data } });
      cleanup.push(() => weir.kill('SIGKILL'));
      expect(await within(20_000, () => 'the refusal', weir.exited)).toEqual({ code: 1, signal: null });
      expect(weir.output().trim().split('\n')).toEqual([
        expect.stringMatching(/data folder \/.*Set WEIR_DATA to a folder that this user may write\.$/),
      ]);
    });

  it.each(['postgres', 'workspaces'])(
    'where %s of the data folder is a link, since a copy would work in what it leads to',
    async (name) => {
      const place = newPlace();
      mkdirSync(join(place.root, 'elsewhere'));
      mkdirSync(place.data);
      symlinkSync(join(place.root, 'elsewhere'), join(place.data, name));
      const weir = spawnWeir(place);
      cleanup.push(() => weir.kill('SIGKILL'));
      expect(await within(20_000, () => 'the refusal', weir.exited)).toEqual({ code: 1, signal: null });
      expect(weir.output().trim().split('\n')).toEqual([
        expect.stringMatching(/\/\w+ is a symbolic link, .* set WEIR_DATA to that\.$/),
      ]);
    },
  );

  it('as a second server on a data folder, while the first goes on unharmed', async () => {
    const provider = await provide();
    provider.script([{ stream: ['Still ', { gate: 'half' }, 'here.'] }]);
    const weir = await running({ provider });
    const api = weir.api(await weir.signIn());
    const id = await api.create();
    await api.send(id, 'Are you there?');
    await provider.waitForGate('half');

    const second = spawnWeir(weir.place, { provider });
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.output().trim().split('\n')).toHaveLength(1);
    expect(second.output()).toContain(weir.place.data);
    expect(second.output()).toMatch(/another weir/i);

    provider.release('half');
    const { entries } = await api.waitForState(id, 'IDLE');
    expect(ofKind(entries, 'ASSISTANT')).toMatchObject([{ text: 'Still here.', epoch: 1 }]);
    expect(weir.isRunning()).toBe(true);
    provider.assertDone();
  });

  it('on a port that is in use, and says which before it has made anything', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    cleanup.push(() => new Promise((resolve) => other.close(resolve)));
    const { port } = other.address() as AddressInfo;
    const place = newPlace();
    const weir = spawnWeir(place, { port });
    expect(await weir.exited).toEqual({ code: 1, signal: null });
    expect(weir.output()).toBe(
      `Port ${port} on 127.0.0.1 is in use. Stop what uses it, or set PORT to another one.\n`,
    );
    expect(existsSync(place.data)).toBe(false);
  });

  it('with a bad configuration: all problems at once, no secret among them, exit code 2', async () => {
    const env = {
      PORT: '99999',
      DATABASE_URL: 'mysql://weir:hunter2@db/weir',
      WEIR_WORKSPACES: '/no/such/folder',
      WEIR_NODE: 'not a name',
      WEIR_ALLOWED_HOSTS: 'https://weir.example.org/',
      OPENAI_BASE_URL: 'ftp://models',
      OPENAI_API_KEY: 'sk-secret',
      LOG_LEVEL: 'loud',
    };
    const weir = spawnWeir(newPlace(), { env }, ['--api-key=sk-argument']);
    expect(await weir.exited).toEqual({ code: 2, signal: null });
    const output = weir.output();
    const { OPENAI_API_KEY: _, ...wrong } = env;
    for (const name of Object.keys(wrong)) expect(output).toMatch(new RegExp(`^ {2}- ${name} \\S`, 'm'));
    expect(output).toContain('The only argument is --help');
    expect(output.match(/^ {2}- /gm)).toHaveLength(Object.keys(wrong).length + 1);
    expect(output).not.toMatch(/hunter2|sk-secret|sk-argument/);
  });
});

it('warns at start, and in the client, of an endpoint that does not list the model it was set to', async () => {
  const provider = await provide();
  const place = newPlace();
  const options = { provider, env: { WEIR_MODEL: 'unheard-of' } };
  const child = spawnWeir(place, options);
  cleanup.push(() => child.kill('SIGKILL'));
  const weir = await become(child, place, options);
  const [line] = await child.printed(/^Warning: Model "unheard-of" at .* is not among the models .*$/m);
  const answer = await weir
    .api(await weir.signIn())
    .query<{ server: { warnings: readonly string[] } }>('{ server { warnings } }');
  expect(answer.data?.server.warnings.map((warning) => `Warning: ${warning}`)).toContain(line);
});

it('explains every setting with --help and exits 0', async () => {
  const weir = spawnWeir(newPlace(), {}, ['--help']);
  expect(await weir.exited).toEqual({ code: 0, signal: null });
  for (const name of [
    'HOST',
    'PORT',
    'DATABASE_URL',
    'WEIR_DATA',
    'OPENAI_BASE_URL',
    'WEIR_MODEL',
    'LOG_LEVEL',
  ])
    expect(weir.output()).toMatch(new RegExp(`^ {2}${name} +\\S`, 'm'));
});

describe('as an ordinary user', () => {
  const reason = whyNotAsNobody();
  if (reason) console.log(`Left out: the server as an ordinary user (${reason}).`);

  it.skipIf(reason !== null)(
    'runs its database and commands as that user, and warns of no root',
    async () => {
      const place = newPlace();
      const [uid, gid] = ['-u', '-g'].map((flag) =>
        Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })),
      );
      for (const path of [place.root, place.workspaces]) chownSync(path, uid!, gid!);
      const provider = await provide();
      provider.script([{ stream: [shell('id -un')] }, { stream: ['Done.'] }]);
      const weir = await running({ provider, prefix: asNobody }, place);
      expect(weir.output()).not.toMatch(/root/);
      const api = weir.api(await weir.signIn());
      const id = await api.create();
      await api.send(id, 'Who are you?');
      const [question] = await api.questions(id);
      await api.decide(id, question!, 'APPROVED');
      const { entries } = await api.waitForState(id, 'IDLE');
      const [answer] = ofKind(entries, 'TOOL');
      expect(answer?.outcome).toBe('OK');
      expect(answer?.content).toContain('nobody');
      expect(await weir.stop()).toEqual({ code: 0, signal: null });
      provider.assertDone();
    },
  );
});

/** Only root may become another; and the other must be able to read this checkout and its Node. */
function whyNotAsNobody(): string | null {
  if (process.getuid?.() !== 0) return 'this run is an ordinary user itself';
  const { status, error } = spawnSync(asNobody[0]!, [...asNobody.slice(1), process.execPath, '--version'], {
    cwd: import.meta.dirname,
  });
  if (error) return `setpriv: ${error.message}`;
  return status === 0 ? null : 'the account "nobody" cannot read this checkout';
}
