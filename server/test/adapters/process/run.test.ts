import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commandEnvironment } from '../../../src/adapters/process/environment.ts';
import { watchStalls } from '../../support/stalls.ts';
import { isRunning, pidIn, processes, sessionId, start, temporaryFolder } from './support.ts';

describe('a command that runs to its end', () => {
  it('answers its output, stdout and stderr in the order they were written, and its exit code', async () => {
    const lines = Array.from({ length: 50 }, (_, i) => `echo out${i}; echo err${i} >&2`).join('\n');
    const result = await start(`${lines}\nexit 3`).result;
    const expected = Array.from({ length: 50 }, (_, i) => `out${i}\nerr${i}\n`).join('');
    expect(result).toEqual({ ending: 'exited', exitCode: 3, signal: null, output: expected, message: null });
  });

  it('may open /dev/stdout and /dev/stderr, as scripts do', async () => {
    const script = 'echo a; echo b > /dev/stderr; echo c | tee /dev/stderr; echo d > /dev/stdout';
    expect((await start(script).result).output).toBe('a\nb\nc\nc\nd\n');
  });

  it('leaves no pipe behind', async () => {
    const own = temporaryFolder();
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = own;
    onTestFinished(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    expect((await start('ls -a "$TMPDIR"', { cwd: own }).result).output).toBe('.\n..\n');
    const descriptors = (): number => readdirSync('/dev/fd').length;
    const open = descriptors();
    // They are made eight at once: after as many commands, as many are ready.
    for (let i = 0; i < 8; i++) await start('echo a').result;
    for (let i = 0; i < 8; i++) await start('echo a', { cwd: '/no/such/folder' }).result;
    expect(descriptors()).toBe(open);
    expect(readdirSync(own)).toEqual([]);
  });

  it('runs in its folder with nothing to read', async () => {
    const cwd = temporaryFolder();
    const result = await start('pwd; cat; echo done', { cwd }).result;
    expect(result.output).toBe(`${cwd}\ndone\n`);
  });

  it('says which signal ended the shell itself', async () => {
    expect(await start('kill -9 $$').result).toMatchObject({
      ending: 'signaled',
      exitCode: null,
      signal: 'SIGKILL',
    });
  });

  it('keeps the script as it is: quotes, line ends, dollar signs and its own $0', async () => {
    const result = await start(`echo "a 'b' \\$1 $1|$0"\necho 'x\ny'`).result;
    expect(result.output).toBe(`a 'b' $1 |/bin/sh\nx\ny\n`);
  });

  it('hands on live output while the command still runs', async () => {
    const folder = temporaryFolder();
    const go = join(folder, 'go');
    const running = start(`echo early; while [ ! -e '${go}' ]; do sleep 0.02; done; echo late`);
    expect(await running.printed('early\n')).toBe('early\n');
    writeFileSync(go, '');
    expect((await running.result).output).toBe('early\nlate\n');
    expect(running.output()).toBe('early\nlate\n');
  });
});

describe('the environment of a command', () => {
  it('is without the private programs of the package manager that started the server', () => {
    const path = '/srv/weir/node_modules/.bin:/usr/bin:/srv/node_modules/x/bin:/bin';
    expect(commandEnvironment({ PATH: path }, { sessionId: 'a', callId: 'c1', cwd: '/srv' })['PATH']).toBe(
      '/usr/bin:/bin',
    );
  });

  it('holds nothing of the server but the allow-list, and the marker of the call', async () => {
    const secrets = {
      OPENAI_API_KEY: 'sk-secret-1',
      DATABASE_URL: 'postgres://secret-2',
      WEIR_ANYTHING: 'secret-3',
      NODE_OPTIONS: '--max-old-space-size=999',
      SOME_TOKEN: 'secret-4',
    };
    for (const [name, value] of Object.entries({ ...secrets, LC_ALL: 'C', TERM: 'xterm' })) {
      const before = process.env[name];
      process.env[name] = value;
      onTestFinished(() => {
        if (before === undefined) delete process.env[name];
        else process.env[name] = before;
      });
    }
    const running = start('env');
    const { output } = await running.result;
    const names = output
      .trim()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf('=')));
    // The shell adds the last three itself.
    const expected =
      /^(PATH|HOME|LANG|LC_\w+|TZ|TERM|TMPDIR|USER|LOGNAME|SHELL|WEIR_CALL_ID|WEIR_SESSION|GIT_CEILING_DIRECTORIES|PWD|OLDPWD|SHLVL|_)$/;
    expect(names.filter((name) => !expected.test(name))).toEqual([]);
    expect(output).not.toMatch(/secret|999/);
    expect(output).toContain(`WEIR_CALL_ID=${running.callId}\n`);
    expect(output).toContain(`WEIR_SESSION=${sessionId}\n`);
    expect(output).toContain('TERM=dumb\n');
    expect(output).toContain('LC_ALL=C\n');
  });

  it('lets git find a repository in the workspace, and none above it: that one may be the installation of the server', async () => {
    const clone = realpathSync(temporaryFolder());
    const cwd = join(clone, '.data/workspaces/w1');
    mkdirSync(join(cwd, 'below'), { recursive: true });
    execFileSync('git', ['init', '-q', clone]);
    const top = 'git rev-parse --show-toplevel';
    const astray = await start(`${top}; cd below && ${top}`, { cwd }).result;
    expect(astray.output).not.toContain(`${clone}\n`);
    expect(astray.output.match(/not a git repository/g)).toHaveLength(2);
    const own = await start(`git init -q . && ${top} && cd below && ${top}`, { cwd }).result;
    expect(own.output).toBe(`${cwd}\n${cwd}\n`);
  });
});

describe('a command that cannot start', () => {
  it('says so when the folder is gone', async () => {
    const cwd = temporaryFolder();
    rmSync(cwd, { recursive: true });
    const result = await start('echo hi', { cwd }).result;
    expect(result).toMatchObject({ ending: 'notStarted', exitCode: null, output: '' });
    expect(result.message).toContain('is not there');
  });

  it('says so when it is too long, or holds a NUL', async () => {
    expect(await start(`: ${'x'.repeat(200_000)}`).result).toMatchObject({
      ending: 'notStarted',
      message: expect.stringContaining('too long') as string,
    });
    expect(await start('echo \0').result).toMatchObject({ ending: 'notStarted' });
  });

  it('does not start when it was stopped before', async () => {
    const folder = temporaryFolder();
    const command = { script: 'touch ran', cwd: folder, callId: 'a', timeoutMs: 1_000, maxOutputBytes: 10 };
    const result = await processes.run(command, AbortSignal.abort(), () => {});
    expect(result.ending).toBe('notStarted');
    expect((await start('ls', { cwd: folder }).result).output).toBe('');
  });
});

describe('ending a command', () => {
  it('ends the whole group on abort, grandchildren included (D-65)', async () => {
    const running = start(
      `sh -c 'sleep 1000 & echo "grandchild=$!"; wait' & echo "child=$!"; echo "shell=$$"; wait; echo never`,
    );
    const output = await running.printed('grandchild=').then(() => running.printed('shell='));
    running.abort();
    expect(await running.result).toMatchObject({ ending: 'aborted', exitCode: null, message: null });
    for (const name of ['shell', 'child', 'grandchild']) expect(isRunning(pidIn(output, name))).toBe(false);
    expect(running.output()).not.toContain('never');
  });

  it('lets a command that listens to SIGTERM say goodbye', async () => {
    const running = start(`trap 'echo goodbye; exit 7' TERM; echo ready; while :; do sleep 0.05; done`);
    await running.printed('ready');
    running.abort();
    expect(await running.result).toMatchObject({
      ending: 'aborted',
      exitCode: 7,
      output: expect.stringMatching(/goodbye/) as string,
    });
  });

  it('kills what ignores SIGTERM', async () => {
    const running = start(
      `trap '' TERM; sh -c 'trap "" TERM; echo "deaf=$$"; while :; do sleep 1; done' & echo "shell=$$"; while :; do sleep 1; done`,
    );
    const output = await running.printed('deaf=').then(() => running.printed('shell='));
    running.abort();
    expect(await running.result).toMatchObject({ ending: 'aborted', signal: 'SIGKILL', message: null });
    expect(isRunning(pidIn(output, 'deaf'))).toBe(false);
    expect(isRunning(pidIn(output, 'shell'))).toBe(false);
  });

  it('ends it at the timeout, and keeps what was printed', async () => {
    // Long enough for a busy machine to have begun.
    const result = await start('echo begun; sleep 1000', { timeoutMs: 2_000 }).result;
    expect(result).toMatchObject({ ending: 'timedOut', exitCode: null, output: 'begun\n' });
  });

  it('does not wait for a process left in the background, and ends it', async () => {
    const result = await start('sleep 1000 & echo "left=$!"').result;
    expect(result).toMatchObject({ ending: 'exited', exitCode: 0, message: null });
    expect(isRunning(pidIn(result.output, 'left'))).toBe(false);
  });

  it.runIf(process.platform === 'linux')('ends what left the group but carries the marker', async () => {
    const script = `setsid sh -c 'echo "left=$$"; exec sleep 1000' & while :; do sleep 1; done`;
    const running = start(script);
    const output = await running.printed('left=');
    running.abort();
    await running.result;
    expect(isRunning(pidIn(output, 'left'))).toBe(false);
  });

  it('does not hang on a process that hides from it and holds the pipe', async () => {
    // Without its marker and group it is nobody's; the guide says so.
    const cwd = temporaryFolder();
    const script = `env -i setsid sh -c 'echo "hidden=$$"; touch hides; exec sleep 1000' & until [ -e hides ]; do sleep 0.02; done`;
    const result = await start(script, { cwd }).result;
    const hidden = pidIn(result.output, 'hidden');
    onTestFinished(() => void process.kill(hidden, 'SIGKILL'));
    // One that was waited for would have been ended at the timeout.
    expect(result).toMatchObject({ ending: 'exited', exitCode: 0 });
    expect(isRunning(hidden)).toBe(true);
  });
});

describe('a flood of output', () => {
  it('is cut to head and tail and says how much is missing; memory and event loop stay calm', async () => {
    const maxOutputBytes = 10_000;
    const stalls = watchStalls();
    let mostMemory = 0;
    const watch = setInterval(() => {
      mostMemory = Math.max(mostMemory, process.memoryUsage.rss());
    }, 5);
    const before = process.memoryUsage.rss();
    const running = start(`echo first; yes 0123456789abcde | head -c 50000000; echo; echo last`, {
      maxOutputBytes,
    });
    const { output } = await running.result;
    const longestStall = stalls.longestMs();
    clearInterval(watch);

    expect(output).toMatch(/^first\n0123456789abcde\n/);
    expect(output).toMatch(/\nlast\n$/);
    const note = /\n\[… (\d+) bytes of output cut …\]\n/.exec(output);
    const kept = Buffer.byteLength(output) - Buffer.byteLength(note?.[0] ?? '');
    expect(kept).toBe(maxOutputBytes);
    expect(kept + Number(note?.[1])).toBe(50_000_000 + 'first\n\nlast\n'.length);
    // Live output is bounded too: a moment of 50 ms shows at most 32 KiB and a note.
    expect(running.output().length).toBeLessThan(10_000_000);
    expect(running.output()).toMatch(/bytes not shown live/);
    expect(mostMemory - before).toBeLessThan(120_000_000);
    expect(longestStall).toBeLessThan(1_000);
  });

  it('without an end is stopped at once', async () => {
    const running = start('yes');
    await running.printed('not shown live');
    running.abort();
    expect(await running.result).toMatchObject({ ending: 'aborted' });
  });
});

describe('characters of several bytes', () => {
  it('come whole however the bytes arrive, live and in the result', async () => {
    // é € 😀, a byte at a time, slower than the pace of live output.
    const bytes = ['303', '251', '342', '202', '254', '360', '237', '230', '200'];
    const running = start(bytes.map((byte) => `printf '\\${byte}'`).join('; sleep 0.06; '));
    expect((await running.result).output).toBe('é€😀');
    expect(running.output()).toBe('é€😀');
  });

  it('are never split by the cut', async () => {
    for (const maxOutputBytes of [100, 101, 102, 103]) {
      const { output } = await start(`yes 😀€é | head -n 1000 | tr -d '\\n'`, { maxOutputBytes }).result;
      const [head, tail] = output.split(/\n\[… \d+ bytes of output cut …\]\n/);
      expect(head).toMatch(/^(😀€é)+(😀€?)?$/u);
      expect(tail).toMatch(/^(€?é)?(😀€é)+$/u);
      expect(output).not.toContain('\uFFFD');
    }
  });

  it('that are none are replaced, and do no harm', async () => {
    expect((await start(`printf 'a\\377b\\303'`).result).output).toBe('a\uFFFDb\uFFFD');
  });
});
