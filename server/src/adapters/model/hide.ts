/**
 * Owns: taking credentials out of what is shown, also where an endpoint tells them in another way of writing.
 *
 * What is looked at is not a text but what it says: its escapes (of a URL, of HTML, of JSON, of a program) are undone, and
 * those that come out of that, until there are none; where there is no end of it, nothing is shown. Of what it says, the
 * letters and digits of ASCII count: what stands between them (white space, characters nobody sees, the colons of a dump)
 * hides nothing. There, each credential is looked for as it is, and as its bytes (of UTF-8, or UTF-16) are written in
 * hexadecimal digits or in base64, also the one within the other, or in decimal numbers.
 *
 * Invariants: of a credential no `run` of letters and digits stays in what is shown, and none of `least` signs or more
 * stays as a whole (in base64, one of less than six bytes does: that looks like any word); what it costs is what the text
 * is long.
 */

import { proxySecrets } from './endpoint-fetch.ts';

/** As many letters and digits in a row as are looked for: of a credential that was cut or mangled no more is shown. */
const run = 8;
/** Credentials of less than this are hidden only as they stand: they may be part of any word. */
const least = 4;
/** How deep escapes may be within escapes: far deeper than anybody means to write. */
const deepest = 16;

const escape = new RegExp(
  [
    String.raw`(?:%|\\x)(?<byte>[\da-f]{2})`,
    // What programs write with a large U and eight digits, in small letters.
    String.raw`\\u(?<long>000000[\da-f]{2})`,
    String.raw`(?:%u|\\u|u\+)(?<unit>[\da-f]{4})`,
    String.raw`&#x0*(?<hex>[\da-f]{1,6});?`,
    String.raw`&#0*(?<decimal>\d{1,7});?`,
    String.raw`\\[ux]\{0*(?<braced>[\da-f]{1,6})\}`,
    String.raw`\\o\{0*(?<bracedOctal>[0-7]{1,7})\}`,
    // Of a style sheet.
    String.raw`\\0000(?<style>[\da-f]{2})`,
    String.raw`\\(?<octal>[0-3][0-7]{2}|[0-7]{2})`,
    String.raw`&(?<name>[a-z][a-z\d]{1,31});`,
    // A tag without anything in it, which may stand between two letters.
    String.raw`(?<tag><\/?[a-z][a-z\d]{0,5}\/?>)`,
    String.raw`\\(?<escaped>[^ux])`,
    String.raw`(?<prefix>0x)(?=[\da-f]{2})`,
  ].join('|'),
  'g',
);
/** By name, HTML writes what is neither a letter nor a digit; of that, only ASCII may be part of an escape or credential. */
const named = new Map(
  'excl! quot" num# dollar$ percnt% amp& apos\' lpar( rpar) ast* plus+ comma, period. sol/ colon: semi; lt< equals= gt> quest? commat@ lsqb[ bsol\\ rsqb] hat^ lowbar_ grave` lbrace{ verbar| rbrace}'
    .split(' ')
    .map((pair) => [pair.slice(0, -1), pair.slice(-1)]),
);
const unseen = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

/** What a text says: its bytes as UTF-8, one a character, in small letters, without what is not seen. */
interface Reading {
  readonly signs: string;
  /** Of each, where it begins and ends in the text. */
  readonly from: readonly number[];
  readonly to: readonly number[];
}

function createReading() {
  const parts: string[] = [];
  const from: number[] = [];
  const to: number[] = [];
  return {
    add(signs: string, begin: number, end: number): void {
      parts.push(signs);
      for (let i = 0; i < signs.length; i++) {
        from.push(begin);
        to.push(end);
      }
    },
    get: (): Reading => ({ signs: parts.join(''), from, to }),
  };
}

/** Letters of another width are the letters. */
const signsOf = (character: string): string =>
  unseen.test(character) ? '' : Buffer.from(character.normalize('NFKC')).toString('latin1').toLowerCase();

/** What a text says once no escape is left in it; null when there is no end of them. */
function read(text: string): Reading | null {
  const plain = createReading();
  let end = 0;
  for (const character of text) {
    end += character.length;
    plain.add(signsOf(character), end - character.length, end);
  }
  let reading = plain.get();
  for (let i = 0; i < deepest; i++) {
    const undone = undo(reading);
    if (undone === reading) return reading;
    reading = undone;
  }
  return null;
}

function undo(reading: Reading): Reading {
  const { signs, from, to } = reading;
  const undone = createReading();
  let at = 0;
  const copyUpTo = (end: number): void => {
    for (; at < end; at++) undone.add(signs[at]!, from[at]!, to[at]!);
  };
  for (const match of signs.matchAll(escape)) {
    copyUpTo(match.index);
    at += match[0].length;
    undone.add(meant(match.groups!), from[match.index]!, to[at - 1]!);
  }
  if (at === 0) return reading;
  copyUpTo(signs.length);
  return undone.get();
}

function meant(groups: Readonly<Record<string, string | undefined>>): string {
  const { byte, long, unit, hex, braced, decimal, bracedOctal, style, octal, name, escaped, prefix, tag } =
    groups;
  if ((prefix ?? tag) !== undefined) return '';
  // White space, or the character itself.
  if (escaped !== undefined) return /[bfnrtv]/.test(escaped) ? '' : escaped;
  if (name !== undefined) return named.get(name) ?? '';
  const inEights = octal ?? bracedOctal;
  const code =
    decimal !== undefined
      ? Number(decimal)
      : inEights !== undefined
        ? Number.parseInt(inEights, 8)
        : Number.parseInt((byte ?? long ?? unit ?? hex ?? braced ?? style)!, 16);
  // A byte beyond ASCII is part of a character, and no character.
  if ((byte ?? octal) !== undefined && code > 0x7f) return String.fromCharCode(code & 0xff).toLowerCase();
  return code <= 0x10ffff ? signsOf(String.fromCodePoint(code)) : '';
}

/** The signs of a reading that count. A backslash only escapes. */
function only(counted: RegExp, { signs, from, to }: Reading): Reading {
  const kept = createReading();
  for (let i = 0; i < signs.length; i++) if (counted.test(signs[i]!)) kept.add(signs[i]!, from[i]!, to[i]!);
  return kept.get();
}
const lettersAndDigits = /[a-z\d]/;
const allButBackslashes = /[^\\]/;

/** Bytes in hexadecimal digits and in base64, each as far as it is the same whatever stands beside it. */
const encoded = (text: string, encoding: 'utf8' | 'utf16le' = 'utf8'): readonly string[] => [
  Buffer.from(text, encoding).toString('hex'),
  // Within a longer text, base64 begins at one of three places; what depends on the neighbours is left out.
  ...[0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text, encoding)]);
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  }),
];

/** What is not looked for has to be drawn somewhere: an encoding of an escape, or one three deep, is not. */
function writingsOf(secret: string): readonly string[] {
  const once = encoded(secret);
  // The other order of the bytes is the same, one byte on.
  const wide = encoded(secret, 'utf16le');
  const decimal = [...Buffer.from(secret)].join('');
  return [secret, ...once, ...once.flatMap((text) => encoded(text)), ...wide, decimal];
}

type Hide = (text: string) => string;

/** By the secrets of an endpoint, which never change: to find all their writings takes a while. */
const hiders = new WeakMap<readonly string[], Hide>();

/** Hides these secrets and what looks like one. */
export function hiderOf(secrets: readonly string[]): Hide {
  const known = hiders.get(secrets) ?? createHider(secrets);
  hiders.set(secrets, known);
  return known;
}

/** Hides these secrets where they stand as they are: in what people wrote themselves, what resembles one is a name. */
export const hideAsWritten = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((t, secret) => (secret === '' ? t : t.replaceAll(secret, '[hidden]')), text);

function createHider(secrets: readonly string[]): Hide {
  const known = [...secrets, ...proxySecrets].filter(({ length }) => length >= least);
  const readAll = (texts: readonly string[], counted: RegExp): readonly string[] =>
    texts.flatMap((text) => read(text) ?? []).map((reading) => only(counted, reading).signs);
  const wholes = readAll(known, allButBackslashes).filter(({ length }) => length >= least);
  const runs = new Set<string>();
  for (const signs of readAll(known.flatMap(writingsOf), lettersAndDigits)) {
    for (let at = 0; at + run <= signs.length; at++) runs.add(signs.slice(at, at + run));
  }

  function hideKnown(text: string): string {
    const reading = read(text);
    if (!reading) return '[hidden]';
    const all = only(allButBackslashes, reading);
    const counted = only(lettersAndDigits, all);
    const hidden: [number, number][] = [];
    for (let at = 0; at + run <= counted.signs.length; at++)
      if (runs.has(counted.signs.slice(at, at + run)))
        hidden.push([counted.from[at]!, counted.to[at + run - 1]!]);
    for (const whole of wholes)
      for (let at = all.signs.indexOf(whole); at !== -1; at = all.signs.indexOf(whole, at + 1)) {
        const [begin, end] = [all.from[at]!, all.to[at + whole.length - 1]!];
        // Across white space it may be the end and the beginning of words.
        if (!/\s/.test(text.slice(begin, end))) hidden.push([begin, end]);
      }
    let shown = '';
    let end = 0;
    for (const [begins, ends] of hidden.toSorted(([a], [b]) => a - b)) {
      if (begins >= end) shown += `${text.slice(end, begins)}[hidden]`;
      end = Math.max(end, ends);
    }
    return shown + text.slice(end);
  }

  return (text) =>
    hideKnown(hideAsWritten(text, secrets))
      .replace(/\/\/[^/@\s]+@/g, '//')
      // Not the punctuation of the sentence it stands in, and not what is hidden already.
      .replace(/\bBearer\s+[^\s()[\]<>{}"',;]+/gi, 'Bearer [hidden]')
      // Not "basic authentication".
      .replace(/\bBasic\s+(?=\S*[\d=])[A-Za-z\d+/]{8,}={0,2}/gi, 'Basic [hidden]')
      .replace(/\b(sk|gsk|pk|xai|hf|nvapi)[-_][\w*-]{6,}/g, '[hidden]');
}
