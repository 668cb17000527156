/**
 * Owns: the feed cursor as text (D-54).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../src/projection/index.ts';

const counter = fc.nat(Number.MAX_SAFE_INTEGER).map((n) => n % 1e15);

describe('a cursor', () => {
  it('comes back as it was handed out', () => {
    const incarnation = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
    fc.assert(
      fc.property(incarnation, counter, counter, (id, epoch, revision) => {
        const cursor = { incarnation: id, epoch, revision };
        expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['no dots', 'abc'],
    ['a part too few', 'abc.1'],
    ['a part too many', 'abc.1.2.3'],
    ['no incarnation', '.1.2'],
    ['a negative revision', 'abc.1.-2'],
    ['a fraction', 'abc.1.2.5'],
    ['an exponent', 'abc.1.2e9'],
    ['hexadecimal', 'abc.0x1.2'],
    ['a number beyond safe integers', 'abc.1.9999999999999999'],
    ['digits of another script', 'abc.1.٢'],
    ['white space', ' abc.1.2'],
    ['a line end', 'abc.1.2\n'],
    ['NUL', 'a\0c.1.2'],
    ['an incarnation too long', `${'a'.repeat(65)}.1.2`],
    ['a path', '../etc.1.2'],
  ])('is not %s', (_, text) => {
    expect(decodeCursor(text)).toBeNull();
  });

  it('is refused or safe whatever a client sends', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const cursor = decodeCursor(text);
        if (cursor === null) return;
        expect(Number.isSafeInteger(cursor.epoch) && cursor.epoch >= 0).toBe(true);
        expect(Number.isSafeInteger(cursor.revision) && cursor.revision >= 0).toBe(true);
      }),
    );
  });

  it('is read in time that does not explode with its length', () => {
    const text = `${'a'.repeat(64)}.${'1'.repeat(15)}.`.repeat(20_000);
    expect(decodeCursor(text)).toBeNull();
  });
});
