/**
 * Owns: taking credentials out of what is shown, also where an endpoint tells them in another way of writing.
 *
 * Invariant: a secret is found whatever invisible characters or white space stand in it, in either case, and encoded as
 * base64, in hexadecimal digits, for a URL, for HTML or for JSON; finding it costs what the text is long.
 */

/** Secrets shorter than this are hidden as they are only, since their encodings may be anything. */
const minEncoded = 4;
/** And those shorter than this are not looked for across white space: it may be the end and the beginning of words. */
const minSpaced = 8;
/** The beginning of a secret at the end of a text that was cut is hidden from this length on. */
const minBegin = 4;

/** One character as it is written: by its bytes, as its number, by name, or what is not seen at all; a backslash only escapes. */
const written =
  /%(?:25)*([0-9a-f]{2})|&#x0{0,8}([0-9a-f]{1,6});?|&#0{0,8}(\d{1,7});?|&(amp|lt|gt|quot|apos|sol|plus|equals|lowbar|hyphen|dash|period|colon|num|percnt|excl|commat);|\\(?:u00|x)([0-9a-f]{2})|([\s\\\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}])|./giu;
const named: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    sol: '/',
    plus: '+',
    equals: '=',
    lowbar: '_',
    hyphen: '-',
    dash: '-',
    period: '.',
    colon: ':',
    num: '#',
    percnt: '%',
    excl: '!',
    commat: '@',
  }),
);

interface Bare {
  /** The bytes that are meant, one a character, with nothing invisible, in one case and one alphabet of base64. */
  readonly bytes: string;
  /** Of each, where it begins and ends in the text. */
  readonly from: readonly number[];
  readonly to: readonly number[];
}

function bareOf(text: string): Bare {
  const parts: string[] = [];
  const from: number[] = [];
  const to: number[] = [];
  for (const match of text.matchAll(written)) {
    const [whole, byte, hex, decimal, name, escaped, unseen] = match;
    if (unseen !== undefined) continue;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const bytes =
      (byte ?? escaped) !== undefined
        ? String.fromCharCode(Number.parseInt((byte ?? escaped)!, 16))
        : Buffer.from(
            name !== undefined
              ? (named.get(name.toLowerCase()) ?? whole)
              : (hex ?? decimal) !== undefined && code <= 0x10ffff
                ? String.fromCodePoint(code)
                : whole,
          ).toString('latin1');
    for (const one of bytes) {
      parts.push(plain(one));
      from.push(match.index);
      to.push(match.index + whole.length);
    }
  }
  return { bytes: parts.join(''), from, to };
}

const plain = (byte: string): string => (byte === '-' ? '+' : byte === '_' ? '/' : byte.toLowerCase());

/** All that a secret looks like once it is bare. */
function needlesOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  // Within a longer text, base64 begins at one of three places; what depends on the neighbours is left out.
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const whole = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(Math.ceil((before * 8) / 6), whole);
  });
  const inside = base64.filter((text) => text.length >= minSpaced);
  return [
    bareOf(secret).bytes,
    bytes.toString('hex'),
    ...inside.map((text) => [...text].map(plain).join('')),
  ];
}

/** Hides these secrets and what looks like one. `isCut`: a secret may begin at the end of the text and not end there. */
export function createHider(secrets: readonly string[]): (text: string, isCut?: boolean) => string {
  const needles = secrets
    .filter((secret) => secret.length >= minEncoded)
    .flatMap((secret) => needlesOf(secret).map((bytes) => ({ bytes, spaced: secret.length >= minSpaced })))
    .filter(({ bytes }) => bytes !== '');
  const short = secrets.filter((secret) => secret.length < minEncoded);

  function hideKnown(text: string, isCut: boolean): string {
    const { bytes, from, to } = bareOf(text);
    const hidden: [number, number][] = [];
    const add = (at: number, length: number): void => void hidden.push([from[at]!, to[at + length - 1]!]);
    for (const needle of needles) {
      for (let at = bytes.indexOf(needle.bytes); at !== -1; at = bytes.indexOf(needle.bytes, at + 1))
        if (needle.spaced || !/\s/.test(text.slice(from[at], to[at + needle.bytes.length - 1])))
          add(at, needle.bytes.length);
      let begin = isCut ? needle.bytes.length - 1 : 0;
      while (begin >= minBegin && !bytes.endsWith(needle.bytes.slice(0, begin))) begin--;
      if (begin >= minBegin) add(bytes.length - begin, begin);
    }
    let shown = '';
    let end = 0;
    for (const [begins, ends] of hidden.toSorted(([a], [b]) => a - b)) {
      if (begins >= end) shown += `${text.slice(end, begins)}[hidden]`;
      end = Math.max(end, ends);
    }
    return shown + text.slice(end);
  }

  return (text, isCut = false) =>
    short
      .reduce((t, secret) => t.replaceAll(secret, '[hidden]'), hideKnown(text, isCut))
      .replace(/\/\/[^/@\s]+@/g, '//')
      // Not the punctuation of the sentence it stands in, and not what is hidden already.
      .replace(/\bBearer\s+[^\s()[\]<>{}"',;]+/gi, 'Bearer [hidden]')
      .replace(/\b(sk|gsk|pk|xai|hf|nvapi)[-_][\w*-]{6,}/g, '[hidden]');
}
