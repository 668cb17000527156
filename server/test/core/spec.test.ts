/**
 * Owns: that SPEC.md tells the truth about its tests: each "Enforced by" names one that exists, and no law over random
 * lives is missing from it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { laws as simulated } from '../simulation/laws.ts';
import { laws } from './support/laws.ts';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const spec = read('../../src/core/SPEC.md');

/** Paragraphs of the specification that end in a claim, and what they claim. */
const claims = spec.split(/\n\n+/).flatMap((paragraph) => {
  const [law, ...claim] = paragraph.split('Enforced by');
  const tests = [...claim.join().matchAll(/`([\w-]+\.test\.ts): ([^`]+)`/g)];
  return tests.map(([, file, title]) => ({
    law: law!.trim().split('\n')[0]!,
    file: file!,
    title: title!.replaceAll(/\s*\n\s*/g, ' '),
  }));
});

const folders = [
  './',
  '../../../schema/test/projection/',
  '../app/',
  '../adapters/model/',
  '../adapters/storage/',
  '../integration/',
] as const;

/** Titles in a test file as they are written, in any of the three quotes; those of laws are keys. */
function titlesHold(file: string, title: string): boolean {
  if (file === 'laws.test.ts') return Object.hasOwn(laws, title);
  if (file === 'simulation.test.ts') return Object.hasOwn(simulated, title) && isWatched(title);
  const path = folders.find((folder) => existsSync(new URL(folder + file, import.meta.url)));
  if (path === undefined) return false;
  const source = read(path + file);
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => source.includes(quoted));
}

/** A law of the simulation is one only if something says that it does not hold. */
const watchers = readdirSync(new URL('../simulation/', import.meta.url))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => read(`../simulation/${file}`))
  .join();
const isWatched = (law: string): boolean => new RegExp(`(violate|wrong)\\(\\s*'${law}'`).test(watchers);

describe('SPEC.md', () => {
  it('says of every law of the simulation where it is watched', () => {
    expect(Object.keys(simulated).filter((law) => !isWatched(law))).toEqual([]);
  });

  it.each(claims)('says truly that $file enforces: $title', ({ file, title }) => {
    expect(titlesHold(file, title)).toBe(true);
  });

  it('names every law over random lives', () => {
    const named = claims.filter((c) => c.file === 'laws.test.ts').map((c) => c.title);
    expect(Object.keys(laws).filter((law) => !named.includes(law))).toEqual([]);
  });

  it('closes every law with a claim', () => {
    const open = spec
      .split(/\n\n+/)
      .filter((p) => /^\*\*D-\d/.test(p) && !p.includes('Enforced by'))
      .map((p) => p.split('\n')[0]);
    expect(open).toEqual(['**D-27 The state table is data and total.** See above.']);
  });
});
