/** Forks of conversations that were summarised; all else about forks is in `lifecycle.test.ts`. */
import type { ContextMark, Entry, EntryBody, Projection } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { told } from '../../src/core/workstream/state.ts';
import {
  after,
  batchOf,
  checkpoint,
  configuration,
  message,
  type Made,
} from '../adapters/storage/fixtures.ts';
import { ada, createWorld, newKey, waits, type World } from './support/world.ts';

let world: World;
let source: Made;

type Body = EntryBody & { readonly tokens?: number };

const mark = (tokens: number, counted = tokens): ContextMark => ({
  told: tokens,
  counted: { tokens: counted, told: tokens },
  scale: 1,
  overhead: 7,
  window: 1_000,
});
const said = (text: string): Body => ({ ...message(text), tokens: 10 });
const answered = (text: string, context: ContextMark, more: Partial<Body> = {}): Body =>
  ({
    kind: 'ASSISTANT',
    text,
    reasoning: '',
    calls: [],
    finish: 'STOP',
    model: 'test',
    alias: 'test',
    usage: null,
    context,
    discarded: [],
    tokens: 10,
    ...more,
  }) as Body;
const calling = (callId: string, context: ContextMark): Body =>
  answered(`calls ${callId}`, context, {
    calls: [{ callId, providerId: 'p', name: 'look', arguments: '{}' }],
  });
const result = (callId: string): Body => ({
  kind: 'TOOL',
  callId,
  name: 'look',
  outcome: 'OK',
  effect: 'NONE',
  content: `saw ${callId}`,
  tokens: 10,
});
const summary = (watermark: number, context: ContextMark): Body =>
  checkpoint(watermark, { context, tokens: 50, summary: `sum ${watermark}` });

beforeEach(async () => {
  world = await createWorld();
  const id = await world.open();
  const row = await world.storage.catalog.get(id);
  source = { id, incarnation: row!.incarnation, epoch: 0, projection: row!.projection };
});

async function write(bodies: readonly Body[]): Promise<void> {
  const batch = batchOf(source, bodies);
  expect(await world.storage.journal.commit(batch)).toEqual({ type: 'committed' });
  source = after(source, batch);
}

async function fork(revision: number | null = null, of = source.id) {
  const input = { key: newKey(), workstreamId: of, revision, title: null, workspace: null };
  const outcome = await world.services.workstreams.fork(ada, input, waits);
  if (outcome.type !== 'Accepted') throw new Error(outcome.message);
  const { workstreamId: id } = outcome;
  const { projection } = (await world.storage.catalog.get(id))!;
  return { id, projection, entries: world.storage.entries(id) };
}

const wordsOf = (entry: Entry): string =>
  entry.kind === 'CHECKPOINT'
    ? entry.summary
    : 'text' in entry
      ? entry.text
      : entry.kind === 'TOOL'
        ? `result of ${entry.name}`
        : entry.kind;

/** What the model is told of a workstream, as the next owner reads it. */
async function toldOf(id: string, projection: Projection): Promise<readonly string[]> {
  const { revision, superseded, checkpoint: latest } = projection;
  const { journal } = world.storage;
  const { incarnation } = (await journal.head(id))!;
  const range = { incarnation, through: revision, superseded, checkpoint: latest };
  return (await journal.conversation(id, range))!.map(wordsOf);
}

/** 3 to 12: the summary of all up to 5 is at 8; of what stands, 6 and 7 were said before it. */
const history: readonly Body[] = [
  said('3'),
  calling('c', mark(20)),
  result('c'),
  said('6'),
  answered('7', mark(50, 900)),
  summary(5, { ...mark(70), counted: null }),
  said('9'),
  answered('10', mark(90, 120)),
  said('11'),
  answered('12', mark(110, 400), { alias: 'other' }),
];

describe('A fork of a summarised conversation', () => {
  it('begins with the summary, above whose watermark all else of it lies (D-20, D-40)', async () => {
    await write(history);
    const { id, projection, entries } = await fork();
    const words = ['sum 5', '6', '7', '9', '10', '11', '12'];
    expect(await toldOf(source.id, source.projection)).toEqual(words);
    expect(await toldOf(id, projection)).toEqual(words);
    expect(told(projection, entries).map(wordsOf)).toEqual(words);
    expect(entries.map(({ kind }) => kind).slice(0, 5)).toEqual([
      'LIFECYCLE',
      'CONFIGURATION',
      'FORK',
      'CHECKPOINT',
      'USER',
    ]);
    expect(projection.checkpoint).toEqual({ id: entries[3]!.id, revision: 4, watermark: 3 });
    expect(entries).toHaveLength(10);
  });

  it('knows how full it is: what was counted before the summary, or by another model, does not count here (D-39)', async () => {
    await write(history);
    const { projection, entries } = await fork();
    const marks = entries.flatMap((e) =>
      e.kind === 'ASSISTANT' || e.kind === 'CHECKPOINT' ? [[wordsOf(e), e.context ?? null]] : [],
    );
    expect(marks).toEqual([
      ['sum 5', { ...mark(50), counted: null, window: null }],
      ['7', null],
      ['10', { ...mark(90, 120), window: null }],
      ['12', null],
    ]);
    expect(projection.context).toMatchObject({ ...mark(90, 120), told: 110, window: null });
  });

  it.each([
    ['as the model of the summary counts', 'test', 2],
    ['as nobody knows where another one wrote the summary', 'other', 1],
  ])('estimates %s (D-39)', async (_, alias, scale) => {
    const { model } = source.projection.configuration;
    const context = { ...mark(70), counted: null, scale: 2 };
    await write([said('3'), checkpoint(4, { context, alias: alias === 'test' ? model : alias }), said('5')]);
    const { projection } = await fork();
    expect(projection.context.scale).toBe(scale);
  });

  it('at a place before the summary is of what was said until then (D-20)', async () => {
    await write(history);
    const { id, projection, entries } = await fork(7);
    expect(await toldOf(id, projection)).toEqual(['3', 'calls c', 'result of look', '6', '7']);
    expect(projection.checkpoint).toBeNull();
    expect(projection.context).toMatchObject({ ...mark(50, 900), window: null });
    expect(entries).toHaveLength(8);
  });

  it('of several takes the latest one at its place', async () => {
    await write([...history, summary(10, { ...mark(70), counted: null }), said('14')]);
    expect(await toldOf(...at(await fork()))).toEqual(['sum 10', '11', '12', '14']);
    expect(await toldOf(...at(await fork(12)))).toEqual(['sum 5', '6', '7', '9', '10', '11', '12']);
  });

  it('of which the end was taken back keeps the summary (D-59)', async () => {
    await write([...history, { kind: 'REWIND', after: 6, reason: 'REWIND', by: ada }, said('14')]);
    expect(await toldOf(...at(await fork()))).toEqual(['sum 5', '6', '14']);
  });

  it('between an answer and its results has neither (I38)', async () => {
    await write([
      said('3'),
      answered('4', mark(20)),
      calling('d', mark(30)),
      summary(4, { ...mark(60), counted: null }),
      result('d'),
    ]);
    expect(await toldOf(...at(await fork(6)))).toEqual(['sum 4']);
    expect(await toldOf(...at(await fork()))).toEqual(['sum 4', 'calls d', 'result of look']);
  });

  it('is forked again', async () => {
    await write(history);
    const { id } = await fork();
    const again = await fork(7, id);
    expect(await toldOf(again.id, again.projection)).toEqual(['sum 5', '6', '7', '9']);
    expect(again.projection.context.told).toBe(80);
  });
});

it('A fork keeps what a person wants of the source, and has spent nothing (D-33)', async () => {
  const wanted = { instructions: 'Answer in verse.', tokenBudget: 500 };
  await write([{ kind: 'CONFIGURATION', configuration: { ...configuration, model: 'test', ...wanted } }]);
  const { id, projection } = await fork();
  expect(projection.configuration).toMatchObject(wanted);
  expect(projection.budgetLimit).toBe(500);
  expect((await world.load(id)).state().spent).toBe(0);
});

const at = ({ id, projection }: { readonly id: string; readonly projection: Projection }) =>
  [id, projection] as const;
