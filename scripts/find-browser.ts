/**
 * Owns: where the Chromium of the end-to-end tests comes from. Does not own: how it is started.
 *
 * `CHROMIUM` wins; then the usual places; then, as root on Debian, apt-get. Otherwise it throws, naming what to install.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { argv, env, getuid, platform } from 'node:process';

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/snap/bin'];
const MAC_APPS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of a browser that can be started. Installs one where the platform lets us; rejects with what to do. */
export function findBrowser(): Promise<string> {
  return Promise.resolve().then(() => chosenBrowser() ?? installedBrowser() ?? installBrowser());
}

function chosenBrowser(): string | null {
  const chosen = env['CHROMIUM'];
  if (!chosen) return null;
  if (isExecutable(chosen)) return chosen;
  throw new Error(`CHROMIUM is ${chosen}, and that is not a program that can be started.`);
}

function installedBrowser(): string | null {
  const folders = new Set([...FOLDERS, ...(env['PATH'] ?? '').split(delimiter).filter(Boolean)]);
  const places = COMMANDS.flatMap((command) => [...folders].map((folder) => join(folder, command)));
  return [...(platform === 'darwin' ? MAC_APPS : []), ...places].find(isExecutable) ?? null;
}

function installBrowser(): string {
  if (existsSync('/etc/debian_version') && getuid?.() === 0) {
    console.error('No Chromium found; installing it with apt-get (a few hundred megabytes, once).');
    if (apt('update') && apt('install', '-y', '--no-install-recommends', 'chromium', 'fonts-liberation')) {
      const found = installedBrowser();
      if (found) return found;
    }
    throw new Error(`apt-get did not bring a Chromium. ${advice()}`);
  }
  throw new Error(`No Chromium found. ${advice()}`);
}

function apt(...args: readonly string[]): boolean {
  console.error(`$ apt-get ${args.join(' ')}`);
  // Standard output goes to standard error: a caller may read our standard output.
  const { status } = spawnSync('apt-get', args, {
    stdio: ['ignore', 2, 2],
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return status === 0;
}

function advice(): string {
  const how =
    platform === 'darwin'
      ? 'Install Google Chrome or Chromium into /Applications (brew install --cask chromium)'
      : existsSync('/etc/debian_version')
        ? 'Install it with: sudo apt-get update && sudo apt-get install -y chromium'
        : "Install the chromium package of your system's package manager";
  return `${how}, or set CHROMIUM to the path of one.`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

if (argv[1] === import.meta.filename) console.log(await findBrowser());
