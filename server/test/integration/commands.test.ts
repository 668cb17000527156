/**
 * Owns: commands as many callers at once, and hostile ones, give them to a real server. Does not own: their rules
 * (core), or what a lost server does to them (`e2e/specs/crash.test.ts`).
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { editQueuedMessage, retryTurn, rewindWorkstream, type Answer } from 'schema/client-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, type Api, type Result } from '../../../e2e/support/api.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import type { Weir } from '../../../e2e/support/weir.ts';
import { audit } from '../support/audits.ts';
import { askedAbout, setBench, traceOf, type Bench } from './support.ts';

let bench: Bench;
let weir: Weir;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  ({ weir, api } = await bench.join());
});
afterAll(() => bench.end());

const decide = /* GraphQL */ `
  mutation ($input: DecideApprovalInput!) {
    decideApproval(input: $input) {
      __typename
      ... on DecideApprovalPayload {
        durability
        cycle {
          items {
            decision {
              verdict
              feedback
            }
          }
        }
      }
      ... on Rejection {
        code
        retryable
      }
      ... on AlreadyDecided {
        decision {
          verdict
          feedback
          source
        }
      }
      ... on ApprovalGone {
        currentCycleIds
      }
      ... on ArgumentsChanged {
        currentHash
      }
    }
  }
`;

type Decided = Result & {
  readonly decision?: { readonly verdict: string; readonly feedback: string };
  readonly currentCycleIds?: readonly string[];
  readonly currentHash?: string;
};

async function decideRaw(input: object): Promise<Decided> {
  const { data, errors } = await api.query<{ decideApproval: Decided }>(decide, {
    input: { key: newKey(), ...input },
  });
  expect(errors).toEqual([]);
  return data!.decideApproval;
}

async function stopRaw(workstreamId: string, turnId: string): Promise<Result> {
  const document = /* GraphQL */ `
    mutation ($input: StopTurnInput!) {
      stopTurn(input: $input) {
        __typename
        ... on Rejection {
          code
          retryable
        }
        ... on StaleTurn {
          currentTurnId
        }
      }
    }
  `;
  const { data } = await api.query<{ stopTurn: Result }>(document, {
    input: { key: newKey(), workstreamId, turnId },
  });
  return data!.stopTurn;
}

describe('many at once', () => {
  it('takes 64 copies of one message for one: one USER entry, 64 equal answers (D-60)', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Once.'] }]);
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 64 }, () => api.send(id, 'Only once.', key)));
    expect(answers[0]).toMatchObject({ disposition: 'STARTED', durability: 'DURABLE' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);

    await api.waitForState(id, 'IDLE');
    expect(await api.send(id, 'Only once.', key)).toEqual(answers[0]);
    const history = await api.history(id);
    expect(ofKind(history, 'USER')).toMatchObject([{ id: answers[0]!.messageId, text: 'Only once.' }]);
    expect(brokenLaws(history, { settled: true })).toEqual([]);
    bench.provider.assertDone();
  });

  /** What 64 copies of one command are answered. */
  async function copies<R>(send: () => Promise<Answer<{ readonly result: R }>>): Promise<readonly R[]> {
    const answers = await Promise.all(Array.from({ length: 64 }, send));
    return answers.map((answer) => {
      if (!answer.ok) throw new Error(JSON.stringify(answer.failure));
      return answer.data.result;
    });
  }

  it('takes 64 copies of an edit, a rewind and a retry for one each: one entry, 64 equal answers (D-59, D-60, D-63)', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Busy ', { gate: 'copies' }, 'no more.'] }, { stream: ['Edited.'] }]);
    await api.send(id, 'Begin.');
    await bench.provider.waitForGate('copies');
    const { messageId } = await api.send(id, 'Wait.');
    const edit = { input: { key: newKey(), workstreamId: id, messageId: messageId!, text: 'Wait, edited.' } };
    const edits = await copies(() => api.transport.request(editQueuedMessage, edit));
    expect(edits[0]).toMatchObject({ durability: 'DURABLE' });
    for (const answer of edits) expect(answer).toEqual(edits[0]);
    bench.provider.release('copies');
    await api.waitForState(id, 'IDLE');

    bench.provider.script([{ stream: ['Again.'] }]);
    const seen = (await api.snapshot(id)).view.projection.turn!.id;
    const retry = { input: { key: newKey(), workstreamId: id, turnId: seen, from: 'MESSAGE' as const } };
    const retries = await copies(() => api.transport.request(retryTurn, retry));
    expect(retries[0]).toMatchObject({ durability: 'DURABLE' });
    for (const answer of retries) expect(answer).toEqual(retries[0]);
    await api.waitForState(id, 'IDLE');

    const last = (await api.snapshot(id)).view.projection.turn!.id;
    const first = ofKind(await api.history(id), 'USER')[0]!;
    const rewind = { input: { key: newKey(), workstreamId: id, messageId: first.id, turnId: last } };
    const rewinds = await copies(() => api.transport.request(rewindWorkstream, rewind));
    expect(rewinds[0]).toMatchObject({ durability: 'DURABLE', text: 'Begin.' });
    for (const answer of rewinds) expect(answer).toEqual(rewinds[0]);

    const history = await api.history(id);
    expect(ofKind(history, 'USER').map((e) => e.text)).toEqual(['Begin.', 'Wait, edited.']);
    expect(ofKind(history, 'REWIND').map((e) => e.reason)).toEqual(['RETRY', 'REWIND']);
    const texts = ofKind(history, 'QUEUE').map((e) => e.queue.items.map((item) => item.text));
    expect(texts).toEqual([['Wait.'], ['Wait, edited.'], []]);
    expect(brokenLaws(history, { settled: true })).toEqual([]);
    expect(await audit(bench.database.sql)).toEqual([]);
    bench.provider.assertDone();
  });

  it('lets one of 64 retries under different keys win, on two servers: one turn, the others are told why not (D-59, D-62, D-101)', async () => {
    const second = await bench.join();
    const id = await api.create();
    bench.provider.script([{ stream: ['Once.'] }, { stream: [{ gate: 'raced' }, 'Twice.'] }]);
    await api.send(id, 'Race back.');
    await api.waitForState(id, 'IDLE');
    const turnId = (await api.snapshot(id)).view.projection.turn!.id;
    const answers = await Promise.all(
      Array.from({ length: 64 }, async (_, i): Promise<Result> => {
        const asked = i % 2 === 0 ? api : second.api;
        const input = { key: newKey(), workstreamId: id, turnId, from: 'LAST_RESULT' as const };
        const answer = await asked.transport.request(retryTurn, { input });
        if (!answer.ok) throw new Error(JSON.stringify(answer.failure));
        return answer.data.result;
      }),
    );
    const won = answers.filter((answer) => answer.durability === 'DURABLE');
    expect(won).toHaveLength(1);
    const codes = new Set(answers.flatMap((answer) => answer.code ?? []));
    expect([...codes].toSorted()).toEqual(['BUSY', 'OWNER_ELSEWHERE']);
    bench.provider.release('raced');
    await api.waitForState(id, 'IDLE');
    const history = await api.history(id);
    expect(ofKind(history, 'REWIND')).toHaveLength(1);
    expect(ofKind(history, 'ASSISTANT').map((e) => e.text)).toEqual(['Once.', 'Twice.']);
    expect(brokenLaws(history, { settled: true })).toEqual([]);
    expect(await audit(bench.database.sql)).toEqual([]);
    bench.provider.assertDone();
  });

  it('takes 16 copies of one create for one workstream (D-60)', async () => {
    const key = newKey();
    const made = await Promise.all(
      Array.from({ length: 16 }, () => api.tryCreate({ title: 'Only one', key })),
    );
    expect(new Set(made.map((m) => m.workstreamId)).size).toBe(1);
    const [row] = await bench.database.sql<{ n: number }>(
      `select count(*)::int as n from workstream where title = 'Only one' or lifecycle = 'CREATING'`,
    );
    expect(row).toEqual({ n: 1 });
  });

  it('lets one of 20 racing decisions win, and tells the others what was decided (D-64)', async () => {
    const { id, question } = await askedAbout(bench, api, 'Race.', {
      name: 'shell',
      arguments: { command: 'echo raced >> race.log' },
    });
    bench.provider.script([{ stream: ['Over.'] }]);
    const { cycleId, callId, argumentsHash } = question;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        decideRaw({
          workstreamId: id,
          cycleId,
          callId,
          argumentsHash,
          verdict: i % 2 === 0 ? 'APPROVED' : 'DENIED',
          feedback: `decider ${i}`,
        }),
      ),
    );
    const won = answers.filter((a) => a.__typename === 'DecideApprovalPayload');
    expect(won).toHaveLength(1);
    const winner = answers.indexOf(won[0]!);
    const decision = {
      verdict: winner % 2 === 0 ? 'APPROVED' : 'DENIED',
      feedback: `decider ${winner}`,
      source: 'PERSON',
    };
    for (const lost of answers.filter((a) => a !== won[0]))
      expect(lost).toEqual({
        __typename: 'AlreadyDecided',
        code: 'ALREADY_DECIDED',
        retryable: false,
        decision,
      });

    await api.waitForState(id, 'IDLE');
    const history = await api.history(id);
    expect(ofKind(history, 'TOOL')).toHaveLength(1);
    expect(ofKind(history, 'USER').map((e) => e.text)).toEqual(['Race.', `decider ${winner}`]);
    expect(brokenLaws(history, { settled: true })).toEqual([]);
    bench.provider.assertDone();
  });

  it('gives 30 messages sent at once to a busy workstream their places: 1 runs, 20 wait, 9 are refused (D-63)', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Busy ', { gate: 'busy' }, 'no more.'] }, { stream: ['All said.'] }]);
    const texts = Array.from({ length: 30 }, (_, i) => `message ${i}.`);
    const answers = await Promise.all(texts.map((text) => api.send(id, text)));
    const count = (is: (a: (typeof answers)[number]) => boolean): number => answers.filter(is).length;
    expect(count((a) => a.disposition === 'STARTED')).toBe(1);
    expect(count((a) => a.disposition === 'QUEUED')).toBe(20);
    expect(count((a) => a.code === 'QUEUE_FULL' && a.retryable === true)).toBe(9);
    bench.provider.release('busy');
    await api.waitForState(id, 'IDLE');
    const said = ofKind(await api.history(id), 'USER')
      .map((e) => e.text)
      .join('\n');
    texts.forEach((text, i) => {
      expect(said.split(text).length - 1, text).toBe(answers[i]!.code ? 0 : 1);
    });
    bench.provider.assertDone();
  });
});

describe('a refusal is typed and changes nothing (D-11)', () => {
  async function changesNothing(id: string, refused: () => Promise<unknown>): Promise<void> {
    const before = await traceOf(bench.database, api, id);
    await refused();
    expect(await traceOf(bench.database, api, id)).toEqual(before);
  }

  it('unknown workstream', async () => {
    const id = await api.create();
    await changesNothing(id, async () => {
      const missing = [
        Buffer.from('Workstream:00000000000000000000000000000000').toString('base64'),
        Buffer.from('Token:x').toString('base64'),
        'nonsense',
        '',
      ];
      for (const stranger of missing) {
        const answers = [
          await api.send(stranger, 'Hello?'),
          await api.stop(stranger),
          await api.resumeQueue(stranger),
          await api.decide(
            stranger,
            { cycleId: 'x', callId: 'x', argumentsHash: 'x', name: 'x' },
            'APPROVED',
          ),
        ];
        for (const answer of answers)
          expect(answer, stranger).toMatchObject({ code: 'WORKSTREAM_NOT_FOUND', retryable: false });
      }
    });
  });

  it('empty text, and text over a megabyte', async () => {
    const id = await api.create();
    await changesNothing(id, async () => {
      for (const text of ['', ' \n\t ', 'é'.repeat(500_001)])
        expect(await api.send(id, text)).toMatchObject({
          code: 'INVALID_INPUT',
          field: 'text',
          retryable: false,
        });
    });
  });

  it('a message of exactly a megabyte is none of these', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Long.'] }]);
    expect(await api.send(id, 'é'.repeat(500_000))).toMatchObject({ durability: 'DURABLE' });
    await api.waitForState(id, 'IDLE');
    bench.provider.assertDone();
  });

  it('a key that is none', async () => {
    const id = await api.create();
    await changesNothing(id, async () => {
      for (const key of ['short', 'with space', 'x'.repeat(101)])
        await expect(api.send(id, 'Hello', key)).rejects.toThrow(/IdempotencyKey|key/i);
    });
  });

  it('a key used again with another input, also after its turn has ended (D-60)', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Yes.'] }]);
    const key = newKey();
    await api.send(id, 'First.', key);
    await api.waitForState(id, 'IDLE');
    await changesNothing(id, async () => {
      expect(await api.send(id, 'Second.', key)).toMatchObject({ code: 'KEY_REUSED', retryable: false });
      expect(await api.stop(id, null, key)).toMatchObject({ code: 'KEY_REUSED' });
    });
    const createKey = newKey();
    await api.create({ title: 'One', key: createKey });
    expect(await api.tryCreate({ title: 'Two', key: createKey })).toMatchObject({ code: 'KEY_REUSED' });
    bench.provider.assertDone();
  });

  it('a decision on a cycle that is settled, on another than was shown, and on none', async () => {
    const { id, question } = await askedAbout(bench, api, 'Settle.', {
      name: 'write_file',
      arguments: { path: 'a.txt', content: 'a' },
    });
    const { cycleId, callId, argumentsHash } = question;
    const asked = { workstreamId: id, cycleId, callId, argumentsHash, verdict: 'APPROVED' };
    await changesNothing(id, async () => {
      expect(await decideRaw({ ...asked, argumentsHash: 'f'.repeat(64) })).toMatchObject({
        code: 'ARGUMENTS_CHANGED',
        currentHash: argumentsHash,
      });
      for (const other of [{ cycleId: 'no-such-cycle' }, { callId: 'no-such-call' }])
        expect(await decideRaw({ ...asked, ...other })).toMatchObject({
          code: 'APPROVAL_GONE',
          currentCycleIds: [cycleId],
        });
      expect(await decideRaw({ ...asked, feedback: 'x'.repeat(10_001) })).toMatchObject({
        code: 'INVALID_INPUT',
      });
    });
    bench.provider.script([{ stream: ['Written.'] }]);
    expect(await decideRaw(asked)).toMatchObject({ __typename: 'DecideApprovalPayload' });
    await api.waitForState(id, 'IDLE');
    await changesNothing(id, async () => {
      expect(await decideRaw({ ...asked, verdict: 'DENIED' })).toMatchObject({
        code: 'ALREADY_DECIDED',
        decision: { verdict: 'APPROVED' },
      });
    });
    bench.provider.assertDone();
  });

  it('a stop for an earlier turn while another runs (D-62), and none is needed when nothing runs (D-65)', async () => {
    const id = await api.create();
    bench.provider.script([{ stream: ['Over.'] }, { stream: ['Still ', { gate: 'still' }, 'on.'] }]);
    const { turnId } = await api.send(id, 'Go.');
    await api.waitForState(id, 'IDLE');
    const before = await api.history(id);
    expect(await api.stop(id, turnId)).toMatchObject({ nothingToStop: true, stopped: [] });
    expect(await api.history(id)).toEqual(before);

    const { turnId: next } = await api.send(id, 'Again.');
    await bench.provider.waitForGate('still');
    await api.waitFor(id, (v) => v.overlay.message?.text === 'Still ', 'the first piece');
    await changesNothing(id, async () => {
      for (const stale of [turnId!, 'no-such-turn'])
        expect(await stopRaw(id, stale)).toMatchObject({
          code: 'STALE_TURN',
          retryable: false,
          currentTurnId: next,
        });
    });
    bench.provider.release('still');
    const { view } = await api.waitForState(id, 'IDLE');
    expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
    bench.provider.assertDone();
  });

  it('a workspace outside the allowed roots, missing, no folder, relative, or reached by a link', async () => {
    const { workspaces, root } = weir.place;
    mkdirSync(join(workspaces, 'fine'), { recursive: true });
    writeFileSync(join(workspaces, 'file'), '');
    symlinkSync(root, join(workspaces, 'way-out'));
    const before = await countWorkstreams();
    const bad = [
      root,
      '/',
      '/etc',
      join(workspaces, 'missing'),
      join(workspaces, 'file'),
      join(workspaces, 'way-out'),
      `${workspaces}/fine/../..`,
      'fine',
      '.',
      `${workspaces}/fi\0ne`,
      '',
    ];
    for (const workspace of bad)
      expect(await api.tryCreate({ workspace }), JSON.stringify(workspace)).toMatchObject({
        code: 'INVALID_INPUT',
        field: 'workspace',
        retryable: false,
      });
    expect(await api.tryCreate({ model: 'gpt-nonsense' })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'model',
    });
    expect(await api.tryCreate({ title: 'x'.repeat(201) })).toMatchObject({
      code: 'INVALID_INPUT',
      field: 'title',
    });
    expect(await countWorkstreams()).toEqual(before);
    const id = await api.create({ workspace: join(workspaces, 'fine') });
    const { view } = await api.snapshot(id);
    expect(view.projection.configuration.workspace).toBe(join(workspaces, 'fine'));
  });

  async function countWorkstreams(): Promise<unknown> {
    return bench.database.sql('select count(*)::int as n from workstream');
  }
});
