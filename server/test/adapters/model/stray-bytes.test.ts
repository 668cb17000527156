/**
 * Owns: that what does not belong into a stream leaves no hole in an answer: wherever it stands, the answer is whole or
 * a fault (D-37). Fields that the format does not know are not of that kind: it may be extended by them.
 */
import { expect, it } from 'vitest';
import { scopeOf } from '../../../src/adapters/model/faults.ts';
import { createChatReader } from '../../../src/adapters/model/wire/chat-reader.ts';
import { createDrain } from '../../../src/adapters/model/wire/drain.ts';
import { createReading } from '../../../src/adapters/model/wire/events.ts';
import { bindingFor, chunk, sse } from './harness.ts';

const binding = bindingFor('http://127.0.0.1:1/v1');

function read(stream: Uint8Array) {
  const reading = createReading(
    createChatReader(),
    createDrain(binding, new Set(), () => undefined),
    scopeOf(binding),
  );
  return reading.feed(stream) ?? reading.end();
}

const whole = Buffer.from(
  sse([
    chunk({ content: 'one ' }),
    chunk({ content: 'two ' }),
    chunk({ content: 'three' }),
    chunk({}, 'stop'),
  ]),
);
const withAt = (at: number, what: Uint8Array): Buffer =>
  Buffer.concat([whole.subarray(0, at), what, whole.subarray(at)]);

it.each([
  ['noise', Buffer.from([0x22, 0x00, 0x7b, 0xe2, 0x82, 0x0a])],
  ['a line of a log', Buffer.from('[error] upstream: worker 3 died\n')],
  ['the end of a web page', Buffer.from('</body>"\n')],
  ['an error of a gateway', Buffer.from('{"error":{"message":"gone"}}\n')],
] as const)('%s, at any place, makes no shorter answer', (_, stray) => {
  const outcomes = Array.from({ length: whole.length + 1 }, (_unused, at) => read(withAt(at, stray)));
  const texts = outcomes.flatMap((outcome) => (outcome.type === 'answered' ? [outcome.text] : []));
  expect(texts.filter((text) => text.replace(/\[error\].*died|<\/body>/, '') !== 'one two three')).toEqual(
    [],
  );
  expect(outcomes.filter((outcome) => outcome.type === 'failed').length).toBeGreaterThan(100);
});

it('an error that a gateway writes between two events is told as what it is', () => {
  const between = whole.indexOf('data: ', 10);
  expect(
    read(withAt(between, Buffer.from('{"error":{"message":"no credit","code":"insufficient_quota"}}\n'))),
  ).toMatchObject({
    type: 'failed',
    kind: 'QUOTA',
    accepted: true,
    message: expect.stringContaining('no credit') as unknown,
  });
});

it('a field that the format may have one day is ignored, and so is a comment', () => {
  const more = Buffer.from(': ping\nx-trace: 4711\nretry: 10\nping\n');
  expect(read(withAt(whole.indexOf('data: ', 10), more))).toMatchObject({
    type: 'answered',
    text: 'one two three',
  });
});
