import { expect, it } from 'vitest';
import { ask } from '../../src/client-kit/ask.ts';
import { networkFailure, unauthenticated, type Answer } from '../../src/client-kit/failure.ts';
import { tokensQuery, type ResultOf } from '../../src/client-kit/index.ts';
import type { Transport } from '../../src/client-kit/transport.ts';
import { hastyPace, until } from './support/in-process.ts';

type Tokens = Answer<ResultOf<typeof tokensQuery>>;

const lost: Tokens = { ok: false, failure: networkFailure('The server cannot be reached.') };
const tokens: Tokens = { ok: true, data: { tokens: [] } };

/** What would come by itself has come: pauses take one turn each. */
async function turns(): Promise<void> {
  for (let n = 0; n < 10; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A server that gives these answers in turn, the last one for ever. */
function begin(...answers: Tokens[]) {
  const seen: Tokens[] = [];
  const asked = { times: 0 };
  let connected: (() => void) | null = null;
  const transport: Transport = {
    request: () => {
      asked.times += 1;
      return Promise.resolve(answers[Math.min(asked.times, answers.length) - 1] as Answer<never>);
    },
    subscribe: () => () => undefined,
    onConnected: (callback) => {
      connected = callback;
      return () => (connected = null);
    },
    isDown: () => false,
    dispose: () => undefined,
  };
  const paused: number[] = [];
  /** Pauses that last until somebody ends them. */
  const patient = {
    ...hastyPace(),
    pause: (ms: number, signal: AbortSignal) => {
      paused.push(ms);
      return new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          resolve();
        });
      });
    },
  };
  const observe = (answer: Tokens) => void seen.push(answer);
  return { transport, seen, asked, paused, patient, observe, connect: () => connected?.() };
}

it('asks until it is answered, after pauses that grow, and then never again', async () => {
  const { transport, seen, asked, observe, connect } = begin(lost, lost, lost, tokens, lost);
  const pace = hastyPace();
  ask({ transport, pace }, tokensQuery, {}, observe);
  await until('it is answered', () => seen.length === 4);
  connect();
  await turns();
  expect(seen).toEqual([lost, lost, lost, tokens]);
  expect(asked.times).toBe(4);
  expect(pace.paused).toEqual([500, 1000, 2000]);
});

it('asks at once when the server is there again', async () => {
  const { transport, seen, observe, patient, paused, connect } = begin(lost, tokens);
  ask({ transport, pace: patient }, tokensQuery, {}, observe);
  await until('it waits', () => paused.length === 1);
  expect(seen).toEqual([lost]);
  connect();
  await until('it is answered', () => seen.length === 2);
  expect(seen.at(-1)).toEqual(tokens);
});

it('ends with a token that is not accepted, and says nothing once it is stopped', async () => {
  const refused: Tokens = { ok: false, failure: unauthenticated() };
  const ended = begin(refused, tokens);
  ask({ transport: ended.transport, pace: hastyPace() }, tokensQuery, {}, ended.observe);
  const stopped = begin(tokens);
  ask({ transport: stopped.transport, pace: hastyPace() }, tokensQuery, {}, stopped.observe).stop();
  await until('the first was refused', () => ended.seen.length > 0);
  await turns();
  expect(ended.seen).toEqual([refused]);
  expect(stopped.seen).toEqual([]);
});
