/**
 * How long is meant (D-80): the vectors of the watches known elsewhere, numbered as there. Named differences: digits are
 * ASCII, a number is written plainly (no sign, underscore, infinity or NaN), and ISO 8601 lengths are taken.
 */
import { parseDuration } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { defineWatch } from '../../src/core/watches/definition.ts';

const taken: readonly (readonly [string, string, number])[] = [
  ['D1', '30s', 30],
  ['D2', '5m', 300],
  ['D3', '1h', 3_600],
  ['D4', '2h30m', 9_000],
  ['D5', '1h30m15s', 5_415],
  ['D6', '90', 90],
  ['D7', '10.5', 10.5],
  ['D8', '  5m  ', 300],
  ['D8', '\n5m\n', 300],
  ['D9', '1H30M', 5_400],
  ['D10', '2h 30m', 9_000],
  ['D11', '1h  5m 10s', 3_910],
  ['D12', '45 s', 45],
  ['D12', '1 h', 3_600],
  ['D13', '24h', 86_400],
  ['D13', '86400', 86_400],
  ['D15', '10s', 10],
  ['D33', '1e3', 1_000],
  ['ISO 8601', 'PT5M', 300],
  ['ISO 8601', 'PT1H30M15S', 5_415],
  ['ISO 8601', 'P1D', 86_400],
  ['ISO 8601', 'P1DT1S', 86_401],
  ['ISO 8601', 'PT10.5S', 10.5],
  ['ISO 8601', 'pt5m', 300],
];

const refused: readonly (readonly [string, string, RegExp])[] = [
  ['D21', '', /empty/],
  ['D21', '   ', /empty/],
  ...['abc', '5x', 'm', 'h', 's'].map((text) => ['D22', text, /is no duration/] as const),
  ['D23', '1d', /is no duration/],
  ['D24', '30m1h', /is no duration/],
  ['D25', '5m5m', /is no duration/],
  ['D26', '1.5h', /is no duration/],
  ['D27', '1h30', /is no duration/],
  ['D28', '5ms', /is no duration/],
  ['D28', '0x10', /is no duration/],
  ['D29', '0', /above 0/],
  ['D29', '0s', /above 0/],
  ['D30', '-5', /is no duration/],
  ['D30', '-inf', /is no duration/],
  ['D31', 'nan', /is no duration/],
  ['D31', 'NaN', /is no duration/],
  ['D32', 'inf', /is no duration/],
  ['D32', 'Infinity', /is no duration/],
  ['D32', '1e400', /is no duration/],
  ['D34', '1_000', /is no duration/],
  ['D35', '+5', /is no duration/],
  ['D36', '５m', /is no duration/],
  ['D36', '٣m', /is no duration/],
  ['ISO 8601', 'P', /is no duration/],
  ['ISO 8601', 'PT', /is no duration/],
  ['ISO 8601', 'P1DT', /is no duration/],
  ['ISO 8601', 'P1M', /is no duration/],
  ['ISO 8601', 'P1W', /is no duration/],
  ['ISO 8601', 'PT5M ago', /is no duration/],
  ['ISO 8601', 'PT0S', /above 0/],
];

const defined = (every: string) =>
  defineWatch({
    name: null,
    command: 'ls',
    condition: null,
    every,
    maxPolls: null,
    deadline: null,
    repeat: false,
    instruction: null,
  });

describe('a duration', () => {
  it.each(taken)('%s: %j is %d s', (_, text, seconds) => {
    expect(parseDuration(text)).toEqual({ type: 'seconds', seconds });
  });

  it.each(refused)('%s: %j is refused, with what to write instead', (_, text, problem) => {
    expect(parseDuration(text)).toEqual({
      type: 'refused',
      problem: expect.stringMatching(problem) as string,
    });
    expect(parseDuration(text)).toMatchObject({ problem: expect.stringMatching(/2h30m.*PT5M/) as string });
  });

  it('is refused when it is long, and takes no longer for it', () => {
    const before = process.cpuUsage();
    for (const text of [
      `1h${' '.repeat(200_000)}x`,
      `${'1'.repeat(200_000)}h`,
      `PT${'1'.repeat(200_000)}X`,
    ]) {
      expect(parseDuration(text)).toMatchObject({
        problem: expect.stringMatching(/100 characters/) as string,
      });
    }
    // The square of 200,000 is minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });
});

describe('the interval of a watch (D-80)', () => {
  it.each([
    ['D13', '24h', 86_400],
    ['D15', '10s', 10],
    ['D7', '10.5', 11],
    ['ISO 8601', 'PT10S', 10],
  ])('%s: may be %s', (_, every, everySeconds) => {
    expect(defined(every)).toMatchObject({ type: 'defined', definition: { everySeconds } });
  });

  it.each([
    ['D14', '86401', /24 h/],
    ['D14', '90000s', /24 h/],
    ['D14', 'P1DT1S', /24 h/],
    ['D16', '9s', /10 s/],
    ['D16', '9.99', /10 s/],
    ['D16', '0.5', /10 s/],
    ['D32', '1e12', /24 h/],
  ])('%s: may not be %s', (_, every, problem) => {
    expect(defined(every)).toEqual({
      type: 'refused',
      field: 'every',
      problem: expect.stringMatching(problem) as string,
    });
  });
});
