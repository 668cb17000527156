/** How much work a script will be, told before it is parsed (D-82). */
import { describe, expect, it } from 'vitest';
import { signsIn } from '../../src/core/approvals/shell-size.ts';

const count = (text: string): number => signsIn(text, Infinity).signs;

describe('the signs of a script', () => {
  it('are those by which the shell makes something of the text', () => {
    expect(count('ls -la src')).toBe(0);
    expect(count('a | b; c && $d *')).toBe(6);
  });

  it.each([
    ['what is in single quotes', "echo '| ; $( * |'"],
    ['what is in double quotes', 'echo "| ; * |"'],
    ['what is escaped', 'echo \\|'],
    ['a comment', "# don't | ; $("],
  ])('are not looked for in %s, which is one', (_, text) => {
    expect(count(text)).toBe(1);
  });

  it('are not counted in what a quoted here-document holds, and behind it again', () => {
    const body = "it's | ; $(a) *\n".repeat(100);
    expect(count(`cat > a <<'EOF'\n${body}EOF\n`)).toBeLessThan(5);
    expect(count(`cat > a <<'EOF'\n${body}EOF`)).toBeLessThan(5);
    expect(count(`cat > a <<'EOF'\n${body}EOF\na|b|c|d|e|f`)).toBeGreaterThan(5);
  });

  it('are counted in what a shell works out inside of quotes and here-documents', () => {
    expect(count('"$(a | b; c)"')).toBeGreaterThan(4);
    expect(count('cat <<EOF\n$(a | b; c)\nEOF\n')).toBeGreaterThan(4);
  });

  it('are not counted further than somebody wants to know', () => {
    expect(signsIn('a|'.repeat(10_000), 100).signs).toBe(101);
  });

  it('leave the text as it is, but for what quoted here-documents hold', () => {
    const codeOf = (text: string): string => signsIn(text, Infinity).code;
    expect(codeOf('echo "a | b" # c')).toBe('echo "a | b" # c');
    expect(codeOf("cat > a <<'EOF'\nheld; $(x)\nEOF\necho b")).not.toContain('held');
    expect(codeOf("cat > a <<'EOF'\nheld; $(x)\nEOF\necho b")).toContain('echo b');
    expect(codeOf('cat > a <<EOF\nheld; $(x)\nEOF\necho b')).toContain('held');
  });
});
