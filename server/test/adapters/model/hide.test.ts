/**
 * Owns: that of a credential nothing is shown in whatever of these ways it is written, and that other words stay.
 */
import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { hiderOf } from '../../../src/adapters/model/hide.ts';
import { watchStalls } from '../../support/stalls.ts';

const key = 'Zq7Rw2Tx9/Lk4Mn8+Pv5"q';
const show = (said: string, secret = key): string => hiderOf([secret])(said);
const each = (text: string, write: (code: number) => string): string =>
  [...text].map((c) => write(c.codePointAt(0)!)).join('');
const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
const html = (text: string): string =>
  text.replace(/[^a-z\d]/gi, (c) => (c === '&' ? '&amp;' : `&#${c.codePointAt(0)};`));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

it.each<[string, string]>([
  ['as it is', key],
  ['with slashes escaped, as PHP does', key.replaceAll('/', '\\/')],
  ['as a JSON string', JSON.stringify(key).slice(1, -1)],
  ['as a JSON string in a JSON string', JSON.stringify(JSON.stringify(key)).slice(1, -1)],
  ['by numbers, escaped twice', key.replaceAll('/', '\\\\u002f')],
  ['for HTML', html(key)],
  ['for HTML, twice', html(html(key))],
  ['for HTML, seven times', Array.from({ length: 7 }).reduce<string>(html, key)],
  ['for HTML, and that for a URL', encodeURIComponent(html(key))],
  ['for a URL, and that for HTML', html(encodeURIComponent(key))],
  ['for a URL as old browsers do', each(key, (c) => `%u${hex(c, 4)}`)],
  ['for JavaScript', each(key, (c) => `\\u{${hex(c, 2)}}`)],
  [
    'in hexadecimal digits with colons',
    Buffer.from(key)
      .toString('hex')
      .replace(/..(?=.)/g, '$&:'),
  ],
  ['in hexadecimal digits of a dump', Buffer.from(key).toString('hex').replace(/.{4}/g, '$& ').trim()],
  ['in hexadecimal digits of an array', each(key, (c) => `0x${hex(c, 2)}, `)],
  ['in hexadecimal digits, twice', Buffer.from(Buffer.from(key).toString('hex')).toString('hex')],
  ['in lines of base64', base64(key).replace(/.{10}/g, '$&\r\n')],
  ['in base64, twice', base64(base64(key))],
  ['in base64, twice, for HTML', html(base64(base64(key)))],
  ['for HTML by numbers of many digits', each(key, (c) => `&#${'0'.repeat(12)}${c};`)],
  ['for HTML by hexadecimal numbers of many digits', each(key, (c) => `&#x${hex(c, 14)};`)],
  ['for HTML with names between that nobody sees', [...key].join('&ZeroWidthSpace;')],
  ['for HTML with breaks and marks between', `${[...key].join('<wbr>').slice(0, -1)}<b>q</b><br />`],
  ['by names of characters', each(key, (c) => `U+${hex(c, 4).toUpperCase()} `)],
  ['for Python', each(key, (c) => `\\U${hex(c, 8)}`)],
  ['for Perl, in octal digits', each(key, (c) => `\\o{${c.toString(8)}}`)],
  ['in few octal digits', each(key, (c) => `\\${c.toString(8)}`)],
  ['for a style sheet', each(key, (c) => `\\${hex(c, 6)} `)],
  ['as a list of numbers', JSON.stringify([...Buffer.from(key)]).slice(1, -1)],
  ['in hexadecimal digits of UTF-16', Buffer.from(key, 'utf16le').toString('hex')],
  ['in hexadecimal digits of UTF-16, the larger first', each(key, (c) => hex(c, 4))],
  ['in base64 of UTF-16', Buffer.from(key, 'utf16le').toString('base64')],
  ['for HTML by numbers, as old pages do', each(key, (c) => `&#${c}`)],
  ['for Perl', each(key, (c) => `\\x{${hex(c, 2)}}`)],
  ['for a shell, in octal digits', each(key, (c) => `\\${c.toString(8).padStart(3, '0')}`)],
  ['in letters of full width', each(key, (c) => String.fromCodePoint(c + 0xfee0))],
  ['in groups of four', key.replace(/.{4}/g, '$&-')],
])('a key is hidden %s', (_, written) => {
  const shown = show(`<< ${written} >>`);
  // The end of base64 stays: it depends on what would follow.
  expect(shown).toMatch(/^<< \S{0,2}\[hidden\][\s\S]{0,11} >>$/);
});

it.each([0, 1, 2])(
  'a key is hidden in base64 of a longer text, %i characters from its beginning',
  (before) => {
    const encoded = base64(`${'"'.repeat(before)}${key}"}`);
    const shown = show(encoded).split('[hidden]');
    expect(shown).toHaveLength(2);
    // What is left stands for the neighbours, and for no more than bits of the key.
    expect(shown.join('').length).toBeLessThanOrEqual(8);
  },
);

it('a key is hidden in any nesting of the ways to escape, of some or all of its characters', () => {
  type Chance = () => boolean;
  const escaping =
    (write: (character: string) => string) =>
    (text: string, chance: Chance): string =>
      [...text].map((c, i) => (i === 0 || (/[a-z\d]/i.test(c) && chance()) ? c : write(c))).join('');
  const ways: readonly ((text: string, chance: Chance) => string)[] = [
    escaping((c) => Buffer.from(c).toString('hex').replace(/../g, '%$&')),
    escaping((c) => `&#x${hex(c.codePointAt(0)!, 2)};`),
    escaping((c) => `&#${c.codePointAt(0)};`),
    escaping((c) => `\\u${hex(c.codePointAt(0)!, 4)}`),
    (text) => JSON.stringify(text).slice(1, -1),
  ];
  const inner = fc.string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(...'abcYZ0189-_/+.~') });
  const secrets = inner.filter(
    (text) => /^[a-z\d].*[a-z\d]$/i.test(text) && text.replace(/[^a-z\d]/gi, '').length >= 8,
  );
  const nestings = fc.array(fc.nat({ max: ways.length - 1 }), { maxLength: 4 });
  fc.assert(
    fc.property(secrets, nestings, fc.infiniteStream(fc.boolean()), (secret, nesting, chances) => {
      const chance = (): boolean => chances.next().value === true;
      const spaced = secret.replace(
        /.(?=.)/g,
        (c: string) => c + (chance() ? '' : chance() ? '\u200B' : '\n'),
      );
      const written = nesting.reduce((text, way) => ways[way]!(text, chance), spaced);
      expect(show(`<< ${written} >>`, secret)).toBe('<< [hidden] >>');
    }),
    { numRuns: 500, seed: 20_261_130 },
  );
});

it('of a key that is cut, masked or mangled no eight letters and digits in a row are shown', () => {
  const secret = 'sk-proj-Zq7Rw2Tx9Lk4Mn8Pv5';
  for (const said of [
    secret.slice(0, 20),
    secret.slice(9),
    `${secret.slice(0, 14)}*****${secret.slice(14)}`,
    `%${secret}`,
    `${secret.slice(0, 13)}%0g${secret.slice(13)}`,
  ])
    expect(show(said, secret)).not.toMatch(/[a-z\d]{8}/i);
});

it.each<[string, string, string, string]>([
  ['a short password as a whole', 'team', 'the A team, the A te am', 'the A [hidden], the A te am'],
  ['a short password for HTML', 'te&m', 'not te&amp;m', 'not [hidden]'],
  ['a password of signs', 'p@$$!!?#', 'not p&commat;%24%24%21!?%23', 'not [hidden]'],
  [
    'a password in another alphabet',
    'пароль',
    `not ${encodeURIComponent('пароль').toLowerCase()}`,
    'not [hidden]',
  ],
  ['three signs as they stand', 'abc', 'not abc, not ABC', 'not [hidden], not ABC'],
])('%s is hidden', (_, secret, said, shown) => {
  expect(show(said, secret)).toBe(shown);
});

it('what looks like one in a header is hidden, whoever’s it is', () => {
  expect(show('no, Basic cHJveHl1c2VyOmh1bnRlcjI= and Bearer abcdef')).toBe(
    'no, Basic [hidden] and Bearer [hidden]',
  );
  expect(show('wants basic authentication')).toBe('wants basic authentication');
});

it('the password of a proxy is a credential like that of an endpoint', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('HTTPS_PROXY', 'http://me:hunter2-hunter2@proxy.test:3128');
  // Which proxies there are, is looked at once.
  vi.resetModules();
  const fresh = await import('../../../src/adapters/model/hide.ts');
  expect(fresh.hiderOf([])('you are me:hunter2-hunter2')).toBe('you are me:[hidden]');
});

it('a text without a key stays as it is, backslashes and all', () => {
  for (const said of [
    'C:\\path\\/to "a" file',
    '100% of 0x41 &amp; 50%, \\u0041 %2Fv1 &#47;',
    'model `qwen3:8b-q4_K_M` {}',
    'in <b>bold</b>, &ZeroWidthSpace;, U+00E4, \\67 and [72, 101, 108, 108, 111]',
  ])
    expect(show(said)).toBe(said);
});

it('a text whose escapes have no end is not shown at all', () => {
  expect(show(`a&${'amp;'.repeat(20)}b`)).toBe('[hidden]');
  expect(show(`a&${'amp;'.repeat(10)}b`)).toBe(`a&${'amp;'.repeat(10)}b`);
});

it('what it costs is what the text is long', () => {
  const texts = [
    '%25'.repeat(60_000),
    `&${'amp;'.repeat(50_000)}`,
    '%'.repeat(200_000),
    key.slice(0, 20).repeat(10_000),
  ];
  for (const text of texts) {
    const stalls = watchStalls();
    show(text);
    expect(stalls.longestMs()).toBeLessThan(2_000);
  }
});
