import { expect, it } from 'vitest';
import { visible, visibleLine } from 'schema/projection';

it('shows what would hide or reorder a part of a text as its code point, and leaves all else as it is', () => {
  expect(visible('rm \u202Egpj.exe\u200B \u2066x\u2069\u001B[2J\r')).toBe(
    'rm ⟨U+202E⟩gpj.exe⟨U+200B⟩ ⟨U+2066⟩x⟨U+2069⟩⟨U+001B⟩[2J⟨U+000D⟩',
  );
  expect(visible('a\u2028b\u2800c\uFE0Fd\u{E0041}')).toBe('a⟨U+2028⟩b⟨U+2800⟩c⟨U+FE0F⟩d⟨U+E0041⟩');
  expect(visible('ls\n\tgrüße 😀 日本 <b>')).toBe('ls\n\tgrüße 😀 日本 <b>');
  expect(visibleLine('a\nb')).toBe('a⟨U+000A⟩b');
});
