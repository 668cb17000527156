import { describe, expect, it } from 'vitest';
import { createRateLimit } from '../../src/transport/session.ts';
import { serve } from './harness.ts';

const json = { 'content-type': 'application/json' };

describe('POST /session', () => {
  it('gives a token for a code, once', async () => {
    const { send, post } = await serve();
    const first = await send('POST', '/session', json, '{"code":"code-1"}');
    expect([first.status, first.body, first.headers['cache-control']]).toEqual([
      200,
      { token: 'good' },
      'no-store',
    ]);
    expect((await post('{ __typename }', {}, { authorization: 'Bearer good' })).status).toBe(200);
    const second = await send('POST', '/session', json, '{"code":"code-1"}');
    expect(second.status).toBe(401);
    expect(second.body).toEqual({
      error: {
        code: 'CODE_NOT_VALID',
        message:
          'This link was used before, has expired, or is not from this server. Start the server again for a new one.',
      },
    });
  });

  it.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'code=code-1', 415],
    ['plain text', { 'content-type': 'text/plain' }, '{"code":"code-1"}', 415],
    ['malformed JSON', json, '{"code":', 400],
    ['no code', json, '{}', 400],
    ['a code that is no text', json, '{"code":["code-1"]}', 400],
    ['null', json, 'null', 400],
    ['a code of 600 characters', json, JSON.stringify({ code: 'x'.repeat(600) }), 400],
    ['a body over 4 KB', json, JSON.stringify({ code: 'x'.repeat(5_000) }), 413],
    ['an unknown code', json, '{"code":"code-2"}', 401],
  ])('refuses %s and leaves the code usable', async (_, headers, body, status) => {
    const { send } = await serve();
    const answer = await send('POST', '/session', headers, body);
    expect(answer.status).toBe(status);
    expect((answer.body as { error: { message: string } }).error.message).toMatch(/[.}]$/);
    expect((await send('POST', '/session', json, '{"code":"code-1"}')).status).toBe(200);
  });

  it('takes only POST', async () => {
    const { send } = await serve();
    const answer = await send('GET', '/session?code=code-1');
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
  });

  it('takes few tries a minute over all callers', async () => {
    const { send } = await serve();
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++)
      statuses.push((await send('POST', '/session', json, '{"code":"guess"}')).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
    expect(statuses[20]).toBe(429);
    const late = await send('POST', '/session', json, '{"code":"code-1"}');
    expect([late.status, Number(late.headers['retry-after'])]).toEqual([429, 3]);
  });
});

describe('the rate limit', () => {
  it('allows a burst, then one try for each interval', () => {
    let at = 1_000;
    const mayTry = createRateLimit({ burst: 3, everyMs: 100, now: () => at });
    expect([mayTry(), mayTry(), mayTry(), mayTry()]).toEqual([0, 0, 0, 100]);
    at += 60;
    expect(mayTry()).toBe(40);
    at += 40;
    expect([mayTry(), mayTry()]).toEqual([0, 100]);
    at += 10_000;
    expect([mayTry(), mayTry(), mayTry(), mayTry()]).toEqual([0, 0, 0, 100]);
  });
});
