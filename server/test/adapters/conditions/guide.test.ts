/** Owns: that the guide on conditions says what is so. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judges } from './support.ts';

const conditions = judges();
const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guide/watches.md'), 'utf8');
const examples = /```cel\n([^]*?)```/.exec(guide)?.[1]?.trim().split('\n') ?? [];

/** The second column of "instead of … write …": pieces that are conditions by themselves. */
const spellings = [
  ...(/\| instead of[^]*?\n\n/.exec(guide)?.[0] ?? '').matchAll(/^\|.*(?<!\\)\|(.*)\|$/gm),
].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]*)`/g)].map(([, code = '']) => code));

describe('The guide on conditions', () => {
  it('has examples and spellings', () => {
    expect(examples.length).toBeGreaterThan(5);
    expect(spellings.length).toBeGreaterThan(10);
  });

  it.each(examples)('shows what is sound: %s', async (example) => {
    expect(await conditions.check(example)).toEqual({ type: 'sound' });
  });

  it.each(spellings.filter((code) => /data|output|exit_code/.test(code) && / [<>=!]=? |exists\(/.test(code)))(
    'tells a spelling that is sound: %s',
    async (code) => {
      expect(await conditions.check(code)).toEqual({ type: 'sound' });
    },
  );
});
