/** Owns: what a browser calls itself, for the token it is given: by that people tell it from others. Pure. */
import { minuteTime } from '../../lib/words.ts';

/** The first that fits counts: most of them name those below them, too. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

const first = (of: readonly (readonly [RegExp, string])[], userAgent: string): string | null =>
  of.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;

/** `Firefox on Linux, 30 Nov 2026, 22:51`: `at`, milliseconds since 1970, in the time of this place; what it does not tell is left out. */
export function browserName(userAgent: string, at: number): string {
  const system = first(systems, userAgent);
  const browser = first(browsers, userAgent) ?? 'Browser';
  return `${browser}${system === null ? '' : ` on ${system}`}, ${minuteTime(at)}`;
}
