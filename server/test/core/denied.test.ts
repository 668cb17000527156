/** The commands that are never run (D-82): both mistakes, denying what is harmless and missing what is plain. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deniedIn } from '../../src/core/approvals/denied.ts';

const deletes = 'deletes the system itself';
const stops = 'stops the machine';
const disk = 'writes to a whole disk';
const secrets = 'shows the environment of a process';

/** By why they are denied. */
const denied: Readonly<Record<string, readonly string[]>> = {
  [deletes]: [
    // The plain ones, and how they are spelled
    'rm -rf /',
    'rm  -rf   /',
    'rm\t-rf\t/',
    'rm -fr /',
    'rm -r -f /',
    'rm -Rf /',
    'rm -rvf /',
    'rm --recursive --force /',
    'rm --recurs --force /',
    'rm / -rf',
    'rm -rf -- /',
    'rm -rf --no-preserve-root /',
    'rm -rf /tmp/x /',
    'rm -rf /*',
    'rm -rf /.*',
    'rm -rf /?*',
    'rm -rf /[a-z]*',
    'rm -rf //',
    'rm -rf /./',
    'rm -rf /tmp/..',
    'rm -rf /tmp/../',
    'rm -rf /../*',
    'rm -rf /etc',
    'rm -rf /usr/*',
    'rm -rf {/tmp,/}',
    '/bin/rm -rf /',
    // Quoted, escaped
    'r""m -rf /',
    "'rm' -rf '/'",
    '"rm" "-rf" "/"',
    '\\rm -rf \\/',
    "$'\\x72m' -rf /",
    'rm -r\\\nf /',
    // Through something that starts it
    'sudo rm -rf /',
    'sudo -u root -n rm -rf /',
    'sudo --user root rm -rf /',
    'sudo -p "" rm -rf /',
    'doas rm -rf /',
    'env rm -rf /',
    'env -i -u A X=1 rm -rf /',
    "env -S 'rm -rf /'",
    'env -S"rm -rf /"',
    'env -iS "rm -rf /"',
    'env -u A -S "rm -rf" /',
    'env --split-string="rm -rf /"',
    'env --split-string "rm -rf /"',
    'nice rm -rf /',
    'nice -n 10 rm -rf /',
    'nice -10 rm -rf /',
    'ionice -c 3 nohup rm -rf /',
    'timeout -k 5 10 rm -rf /',
    'time rm -rf /',
    'exec rm -rf /',
    'command rm -rf /',
    'busybox rm -rf /',
    'X=1 rm -rf /',
    'sudo nice -n 5 env A=b sh -c "exec rm -rf /"',
    "sh -c 'rm -rf /'",
    "bash -lc 'rm -rf /'",
    'sh -e -c \'rm -rf "$1"\' sh /',
    "su - root -c 'rm -rf /'",
    'eval "rm -rf /"',
    'eval rm -rf /',
    `eval "sh -c 'rm -rf /'"`,
    "trap 'rm -rf /' EXIT",
    "watch -n 5 'rm -rf /'",
    'xargs rm -rf /',
    'echo / | xargs rm -rf',
    'printf "%s\\n" / | xargs -I{} rm -rf {}',
    "echo 'rm -rf /' | sh",
    "echo 'rm -rf /' | sudo bash -s",
    'sh <<EOF\nrm -rf /\nEOF',
    "cat <<'EOF' | sh\nrm -rf /\nEOF",
    "sh <<< 'rm -rf /'",
    'bash <(echo rm -rf /)',
    "bash -e <(echo 'rm -rf $1') /",
    '. <(echo rm -rf /)',
    "source <(printf 'rm -rf /')",
    'cat <(echo rm -rf /) | sh',
    // As a part of something
    'ls; rm -rf /',
    'ls\nrm -rf /',
    'true && rm -rf /',
    'false || rm -rf /',
    'rm -rf / &',
    'yes | rm -rf /',
    '! rm -rf /',
    '{ rm -rf /; }',
    '( rm -rf / )',
    '(rm -rf /) > /dev/null 2>&1',
    'if true; then rm -rf /; fi',
    'if false; then :; elif true; then :; else rm -rf /; fi',
    'while true; do rm -rf /; done',
    'until rm -rf /; do :; done',
    'for x in 1 2; do rm -rf /; done',
    'for x in /tmp /; do rm -rf "$x"; done',
    'case $x in a) ls ;; *) rm -rf / ;; esac',
    'f() { rm -rf /; }',
    'f() { rm -rf "$1"; }; f /',
    'f() { rm -rf "$@"; }; f /tmp /',
    'echo "$(rm -rf /)"',
    'echo `rm -rf /`',
    'x=$(rm -rf /)',
    'echo $((1 + $(rm -rf /)))',
    '[[ $(rm -rf /) ]]',
    'cat <(rm -rf /)',
    'cat <<EOF\n$(rm -rf /)\nEOF',
    'echo ${x#$(rm -rf /)}',
    // By what was said before
    'x=/; rm -rf $x',
    'x=/; rm -rf "${x}"',
    'x=; rm -rf "$x/"',
    "x='-rf /'; rm $x",
    "x='/*'; rm -rf $x",
    'x=r; y=m; $x$y -rf /',
    'c="rm -rf /"; $c',
    'c="rm -rf /"; eval "$c"',
    'a=(rm -rf /); "${a[@]}"',
    'export x=/; rm -rf $x',
    "x=/ sh -c 'rm -rf $x'",
    'rm -rf ${UNSET:-/}',
    'rm -rf $(echo /)',
    '$(command -v rm) -rf /',
    '`which rm` -rf /',
    'rm$IFS-rf$IFS/',
    'set -- /; rm -rf "$1"',
    'cd / && rm -rf *',
    'cd /; rm -rf ./*',
    'cd /tmp && cd .. && rm -rf .',
    '(cd / && rm -rf -- *)',
    'cd / && rm -rf "$PWD"',
    'cd /etc; rm -rf ../usr',
    // By what nobody may have set
    'rm -rf "$UNSET"/',
    'rm -rf $UNSET/',
    'rm -rf "${UNSET}/"',
    'rm -rf -- build "$DIR"//',
    'x=$UNSET; rm -rf "$x/"',
    'cd /bin && ./rm -rf /',
    '../../../bin/rm -rf /',
    '$PREFIX/bin/rm -rf /',
    // By another program
    'find / -delete',
    'find / -type f -delete',
    'find / -xdev -exec rm -rf {} +',
    'find / -exec rm -rf {} \\;',
    'cd / && find . -delete',
    // What comes before a fault in the text is run by a shell that reads line by line
    'rm -rf /\nif',
  ],
  [stops]: [
    'shutdown',
    'shutdown -h now',
    'sudo reboot',
    '/sbin/halt -p',
    'poweroff',
    'true && poweroff -f',
    'systemctl reboot',
    'systemctl --force poweroff',
    'init 0',
    'busybox halt',
    '/usr/sbin/reboot',
    'cd /sbin; ./reboot',
  ],
  [disk]: [
    'dd if=/dev/zero of=/dev/sda',
    'dd of=/dev/nvme0n1 if=x',
    'dd of=/dev/vda1',
    'dd of=/dev/xvda',
    'dd of=/dev/hdb',
    'dd of=/dev/dm-0',
    'dd of=/dev/md0',
    'dd of=/dev/loop3',
    'dd of=/dev/disk/by-id/x',
    'dd "of=/dev//sda"',
    'd=sda; dd if=x of=/dev/$d',
    'cd /dev; dd of=sda',
    '> /dev/sda',
    'echo x >/dev/sda',
    'cat x >> /dev/nvme0n1',
    'cat x >| /dev/vdb',
    'cat x 1<> /dev/vdb',
    '{ cat x; } > /dev/md127',
    'exec 3>/dev/sdb',
    'cat x | sudo tee /dev/sda',
    'cp image.iso /dev/sdb',
    'wipefs -a /dev/sda',
    'wipefs --all --force /dev/sda',
    'wipefs -o 0x438 /dev/sda',
    'wipefs --offset=0x438 /dev/sda',
  ],
  [secrets]: [
    'cat /proc/1/environ',
    'cat /proc/self/environ',
    'cat < /proc/self/environ',
    "tr '\\0' '\\n' < /proc/1/environ",
    'strings /proc/$PPID/environ',
    'cat /proc/*/environ',
    'cat /proc//self/./environ',
    'cd /proc/self && cat environ',
    'grep TOKEN /proc/1/environ',
    'dd if=/proc/1/environ',
  ],
  'makes a new file system': ['mkfs /dev/sda1', 'mkfs.ext4 -F /dev/sda1', 'sudo mkfs.xfs "$DISK"', 'mkfs'],
  'starts itself again and again': [
    ':(){ :|:& };:',
    ':() { : | : & }; :',
    ':(){\n :|:&\n};:',
    'bomb() { bomb | bomb & }; bomb',
    'f() { f & f; }; f',
    'function b { b | b; }',
  ],
  'moves the system itself': ['mv / /tmp', 'mv /* /tmp', 'mv -t /tmp /', 'sudo mv /usr /usr.old'],
  'changes the permissions of the whole system': [
    'chmod -R 777 /',
    'chmod 777 -R /',
    'chmod --recursive a+rwx /',
    'chmod -R -x /',
    'chmod -R 777 /*',
  ],
  'changes the owner of the whole system': [
    'chown -R me /',
    'chown -hR me:me //',
    'chgrp --recursive me /etc',
  ],
};

const harmless = [
  'rm -rf /tmp/x',
  'rm -rf ./*',
  'rm -rf *',
  'rm -rf .',
  'rm -rf build dist',
  'rm "$DIR"/',
  'rm -rf "${DIR:?}"/',
  'rm -rf "$DIR"/build/',
  'rm -rf "$(mktemp -d)"/',
  'd=$(mktemp -d); rm -rf "$d"/',
  'for d in $DIRS; do rm -rf "$d"/; done',
  'f() { rm -rf "$1"/; }',
  'rm -rf "${DIR:?}"/*',
  'rm -rf $DIR',
  'rm -rf /home/me/project/node_modules',
  'rm -rf /var/tmp/x/*',
  "rm -rf '/*'",
  'rm -rf /tmp/*',
  'rm /x',
  'rm -f /*',
  'rm -rf ~/x',
  'cd /tmp && rm -rf *',
  'cd / && cd tmp && rm -rf *',
  '(cd /); rm -rf *',
  '(x=/); rm -rf "$x"',
  "echo 'rm -rf /' | sh < safe.sh",
  'cd / | true; rm -rf *',
  'cd "$DIR" && rm -rf *',
  'cd / && ls && cd - && rm -rf *',
  'x=/tmp; rm -rf $x/y',
  'x=/; x=/tmp/y; rm -rf "$x"',
  'for x in a b; do rm -rf "$x"; done',
  'echo halt',
  'echo rm -rf /',
  "echo 'rm -rf /'",
  'echo "rm -rf /" > notes.txt',
  'echo "never run rm -rf / && reboot"',
  'printf "%s\\n" "rm -rf /"',
  'ls # rm -rf /',
  '# rm -rf /',
  'cat > notes.md <<EOF\nrm -rf /\nreboot\nEOF',
  "cat <<'EOF'\n$(rm -rf /)\n:(){ :|:& };:\nEOF",
  'git commit -m "rm -rf / is denied; halt"',
  'git log --grep=shutdown',
  'git log --grep shutdown',
  'grep -r "rm -rf /" .',
  'grep -rn /proc/self/environ src',
  'rg shutdown',
  'echo asphalt',
  'asphalt',
  './reboot.sh',
  './shutdown',
  './scripts/reboot --dry-run',
  'scripts/halt',
  '/srv/project/bin/shutdown',
  'cd /srv/app && ../tools/poweroff',
  'wipefs /dev/sda',
  'wipefs --json /dev/sda',
  'env -u S ls "rm -rf /"',
  'cat <(echo rm -rf /)',
  'diff <(ls a) <(ls b)',
  'cat reboot',
  'man shutdown',
  'which halt',
  'if command -v poweroff; then ls; fi',
  'shutdown --help',
  'shutdown -c',
  'nice -n 10 echo halt',
  'env -u halt ls',
  'sudo -u halt ls',
  'systemctl status reboot.target',
  'npm run shutdown',
  'pnpm halt',
  'halt() { echo no; }; halt',
  'init',
  'git init 0',
  'chown -R me .',
  'chown -R me:me ./src /srv/x',
  'chown me /',
  'chmod -R 755 .',
  'chmod 777 /tmp',
  'chmod -R 777 /tmp/x',
  'mv a /',
  'mv /tmp/a /tmp/b',
  'mv ./* /tmp',
  'find . -delete',
  "find / -name '*.pyc' -delete",
  'find / -name core -exec rm -rf {} +',
  'find / -type f -print',
  'find /tmp -delete',
  'find . -exec grep -l halt {} \\;',
  'dd if=/dev/zero of=disk.img',
  'dd if=/dev/sda of=/dev/null',
  'dd if=x of=/dev/shm/y',
  'cat /dev/sda > x',
  'ls > /dev/null 2>&1',
  'echo x > /dev/stderr',
  'echo x > /dev/shm/x',
  'cp /dev/sda image',
  'echo "> /dev/sda"',
  'mkfs.ext4 ./disk.img',
  'mkfs.ext4 --help',
  'ls /proc/self',
  'cat /proc/self/status',
  'cat /proc/cpuinfo environ',
  'echo /proc/1/environ',
  'f() { f; }; f',
  'walk() { [ -d "$1" ] && walk "$1/a"; walk "$1/b"; }; walk .',
  'walk() { for d in */; do (cd "$d" && walk) & done; wait; }; walk',
  'a() { b | b; }; a',
  'xargs rm -rf',
  'ls | xargs rm -rf',
  'echo a b | xargs rm -rf',
  "sh -c 'ls' /",
  "sh -c 'echo \"$1\"' sh 'rm -rf /'",
  'sh build.sh -c "rm -rf /"',
  "ssh host 'ls /'",
  `node -e 'console.log("rm -rf /")'`,
  'true',
  '',
  '   ',
  // Not for this to judge: the shell says what is wrong
  'if',
  "echo 'rm -rf /",
  'fi; done; }',
  ')(',
  '${',
  '<<',
];

describe('a denied command (D-82)', () => {
  const pairs = Object.entries(denied).flatMap(([why, commands]) =>
    commands.map((command) => [why, command] as const),
  );

  it.each(pairs)('is never run, because it %s: %s', (why, command) => {
    expect(deniedIn(command)).toMatch(new RegExp(`^".+" is never run, because it ${why}.*\\.$`));
  });

  it('is named by the part that is meant, and shortened where that is long', () => {
    expect(deniedIn('cd /srv && x=/; ls; sudo rm -rf "$x" | cat')).toBe(
      '"rm -rf /" is never run, because it deletes the system itself.',
    );
    expect(deniedIn('echo $HOME; rm -rf "$HOME" /*')).toBe(
      '"rm -rf … /*" is never run, because it deletes the system itself.',
    );
    const long = deniedIn(`rm -rf / ${'😀'.repeat(500)}`);
    expect(long).toMatch(/^"rm -rf \/ 😀+…" is never run/u);
    expect(long?.isWellFormed()).toBe(true);
    expect(long?.length).toBeLessThan(200);
  });
});

describe('a command that is not denied', () => {
  it.each(harmless)('may be run: %s', (command) => {
    expect(deniedIn(command)).toBeNull();
  });
});

describe('reading a command', () => {
  it('never throws, whatever the text is', () => {
    const pieces = fc.constantFrom(
      ...[
        'rm',
        '-rf',
        ' ',
        '/',
        '$(',
        ')',
        '`',
        '"',
        "'",
        '{',
        '}',
        '(',
        '<<',
        'EOF',
        '\n',
        ';',
        '&',
        '|',
        '>',
        '\\',
      ],
      ...[
        '$',
        '${',
        'x=',
        ':-',
        '*',
        '[[',
        ']]',
        '((',
        '))',
        'if',
        'then',
        'fi',
        'for',
        'in',
        'do',
        'done',
        'case',
      ],
      ...[
        'esac',
        'f()',
        'function',
        'sh -c',
        'eval',
        'xargs',
        'find',
        'cd',
        '~',
        '#',
        '!',
        '\uFFFF',
        '\uFDD0',
        '"$@"',
      ],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (words) => {
        deniedIn(words.join(''));
        deniedIn(words.join(' '));
      }),
      { seed: 82, numRuns: 2_000 },
    );
  });

  /** As long as the shell tool takes one. */
  const filled = (unit: string, end = ''): string =>
    unit.repeat(Math.floor((65_536 - end.length) / unit.length)) + end;
  const nested = (
    open: string,
    close: string,
    depth = Math.floor(65_536 / (open.length + close.length)),
  ): string => `${open.repeat(depth)}ls${close.repeat(depth)}`;

  it.each([
    ['nested groups', nested('(', ')')],
    ['nested substitutions', nested('$(', ')')],
    ['quoted substitutions', nested('"$(', ')"')],
    ['nested substitutions as deep as they are read', nested('echo $(', ')', 250).padEnd(65_536, ' x')],
    ['sums that nobody closes', filled('$((')],
    ['process substitutions that nobody closes', filled('<(')],
    ['nested expansions', nested('${a:-', '}')],
    ['expansions that nobody closes', filled('${a#')],
    ['a pipe', filled('a|')],
    ['nested functions', nested('f(){ ', ';}')],
    ['nested conditions', nested('if ', ';then :;fi')],
    ['nested loops', nested('for x in a b c d;do ', ';done')],
    ['here-documents', filled('<<a ')],
    ['here-documents, many more than a command has room for', '<<a '.repeat(60_000)],
    ['nested substitutions, many more than a command has room for', nested('$(', ')', 250_000)],
    ['a deep function that calls itself', `f(){ ${'echo $('.repeat(240)}f${')'.repeat(240)}; }; f`],
    ['here-documents of many lines', filled(`${'<<a '.repeat(990)}\n`)],
    ['commands', filled('a\n')],
    ['wrappers', filled('sudo ')],
    ['wrappers with assignments', filled('env A=b ')],
    ['braces', filled('{a,b}')],
    ['braces in one word', `rm ${filled('{a,b,c}')}`],
    ['commas', `{${filled('a,')}{}`],
    ['a value that doubles', `x=aa;${filled('x=$x$x;')}`],
    ['a value that is used again and again', `x=${'a '.repeat(10_000)};${filled('$x;').slice(0, 40_000)}`],
    [
      'functions that call each other',
      `${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name, index, all) => `${name}(){ ${`${all[index + 1] ?? 'ls'};`.repeat(900)} }`).join(';')};a`,
    ],
    ['a function that calls itself', `f(){ ${filled('f;').slice(0, 60_000)} }; f`],
    ['scripts in scripts', `x='ls'; ${filled('x="eval $x; eval $x";')}; eval "$x"`],
    [
      'subshells with many variables',
      `${Array.from({ length: 4_000 }, (_, index) => `v${index}=1;`).join('')}${'(a);'.repeat(5_000)}`,
    ],
    ['finds', `find / ${filled('-exec ')}`],
    ['assignments and groups', filled('a=(')],
    ['backquotes', filled('`')],
  ])('is bounded work: %s', (_, command) => {
    const took = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      deniedIn(command);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    // Measured: about 10 ms at most. What grows with the square takes some 400 ms.
    expect(Math.min(...took)).toBeLessThan(80);
  });

  it.each([
    ['nested substitutions', `${nested('$(', ')', 100)}; rm -rf /`],
    ['commands', filled('a;', 'rm -rf /')],
    ['scripts in scripts', `${'eval '.repeat(20)}rm -rf /`],
    ['groups deeper than it reads', nested('{ ', ';}', 400)],
    ['more of them than the parser can go into', filled('coproc ')],
    ['here-documents', '<<a '.repeat(2_000)],
  ])('denies what is too much to be read, as anything may stand in the rest: %s', (_, command) => {
    expect(deniedIn(command)).toMatch(
      /^".+" is never run, because it is too long or too deeply nested to be looked through: put it into a file and run that\.$/,
    );
  });

  it.each([
    ['a file that is written', (script: string) => `cat > a.sh <<'EOF'\n${script}EOF`],
    ['a script', (script: string) => script],
    ['a script given to a shell', (script: string) => `bash <<'EOF'\n${script}EOF`],
  ])('reads all of an ordinary command as long as one may be: %s', (_, of) => {
    const part = `# What was built yesterday is packed and put where others find it.
pack() {
  local name="$1" target="\${2:-dist}"
  if [ ! -d "$target" ]; then
    mkdir -p "$target" || { echo "cannot make $target" >&2; return 1; }
  fi
  for file in "$name"/*.txt; do
    case "$file" in
      *.tmp.txt) continue ;;
      *) cp "$file" "$target/$(basename "$file" .txt)-\${VERSION}.txt" ;;
    esac
  done
  tar -czf "$target/$name.tar.gz" "$target" | tee -a build.log
}
for name in docs reports; do
  pack "$name" out && echo "packed $name: $(wc -l < build.log) lines so far"
done
`;
    expect(deniedIn(of(part.repeat(Math.floor(65_000 / part.length))))).toBeNull();
  });

  it('finds what comes last in a command as long as one may be', () => {
    for (const unit of ['ls\n', 'echo "$x" | cat;', "cat > a <<'E'\nrm\nE\n", 'x=$(date);']) {
      expect(deniedIn(filled(unit, 'rm -rf /'))).not.toBeNull();
    }
  });
});
