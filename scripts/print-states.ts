/**
 * Owns: `docs/guide/states.md`, printed from the state table of the core. `--check` fails when the page is not what
 * would be printed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { shown, told } from '../server/src/core/workstream/situations.ts';
import type { CommandEvent, Situation, TableEvent } from '../server/src/core/workstream/situations.ts';
import { behindTheDoor, table, type Cell } from '../server/src/core/workstream/table.ts';

const page = fileURLToPath(new URL('../docs/guide/states.md', import.meta.url));
const situations = Object.keys(shown) as Situation[];
const events = Object.keys(told) as TableEvent[];

/** The whole page, formatted. */
export async function statesPage(): Promise<string> {
  const text = [
    '# What a workstream shows',
    '',
    'This page is printed from `server/src/core/workstream/table.ts` by `pnpm exec node scripts/print-states.ts`; a test',
    'keeps it current, and another drives the core through every cell. It tells of one message, one call and an empty',
    'queue.',
    '',
    '## The states',
    '',
    'CREATING becomes IDLE when the workstream is published; no event of the table does that. A CLOSED workstream that had',
    'failed shows ERROR again when it is opened. Deleting is no event either: nothing is left that could show anything.',
    '',
    'Beside THINKING and RUNNING stands the flag `stopping` once Stop was taken.',
    '',
    ...mermaid(
      Object.values(shown).map(({ state }) => state),
      (situation) => shown[situation].state,
    ),
    '',
    '## What is under way',
    '',
    'The same, told apart by what is under way.',
    '',
    ...mermaid(situations, (situation) => situation),
    '',
    '| situation | shown | stopping | can leave memory | meaning |',
    '|---|---|---|---|---|',
    ...situations.map((s) => {
      const { state, stopping, unloads, meaning } = shown[s];
      return `| ${s} | ${state} | ${stopping ? 'yes' : ''} | ${unloads ? 'yes' : ''} | ${meaning} |`;
    }),
    '',
    '## Every cell',
    '',
    'A situation: the event is taken and this is shown next. `CODE`: the command is refused with it and changes nothing.',
    '·: nothing is under way that it could be about, and nothing comes of it. late: it was once, and nothing comes of it.',
    'fenced: it comes under a claim that is not current, and nothing comes of it.',
    '',
    `| event | ${situations.join(' | ')} |`,
    `|---|${situations.map(() => '---|').join('')}`,
    ...events.map((e) => `| ${told[e]} | ${situations.map((s) => cellText(s, table[s][e])).join(' | ')} |`),
    '',
    '## Behind a shut door',
    '',
    'Closing and deleting begin by shutting the door and stopping the turn. Until it is CLOSED or gone, or the door is',
    'opened again, these are refused with `CLOSING`, unless it is CLOSED or CREATING and refused for that:',
    '',
    ...commandsThat('CLOSING'),
    '',
    'And these are taken, or refused, as above:',
    '',
    ...commandsThat('AS_EVER'),
    '',
  ].join('\n');
  return format(text, { ...(await resolveConfig(page)), filepath: page });
}

const commandsThat = (what: 'CLOSING' | 'AS_EVER'): readonly string[] =>
  (Object.keys(behindTheDoor) as CommandEvent[])
    .filter((command) => behindTheDoor[command] === what)
    .map((command) => `- ${told[command]}`);

function cellText(here: Situation, cell: Cell): string {
  switch (cell.type) {
    case 'taken':
      return cell.to === here ? 'stays' : cell.to;
    case 'refused':
      return `\`${cell.code}\``;
    case 'ignored':
      return cell.because === 'IMPOSSIBLE' ? '·' : cell.because.toLowerCase();
  }
}

/** One arrow for each pair of names, with the events that lead along it. */
function mermaid(names: readonly string[], nameOf: (situation: Situation) => string): readonly string[] {
  const arrows = new Map<string, Set<string>>();
  for (const from of situations)
    for (const event of events) {
      const cell = table[from][event];
      if (cell.type !== 'taken' || nameOf(cell.to) === nameOf(from)) continue;
      const arrow = `${nameOf(from)} --> ${nameOf(cell.to)}`;
      arrows.set(arrow, (arrows.get(arrow) ?? new Set()).add(event));
    }
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...[...new Set(names)].map((name) => `  ${name}`),
    ...[...arrows].map(([arrow, along]) => `  ${arrow} : ${[...along].join(', ')}`),
    '```',
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const printed = await statesPage();
  if (!process.argv.includes('--check')) writeFileSync(page, printed);
  else if (readFileSync(page, 'utf8') !== printed) {
    console.error('docs/guide/states.md is stale: run `pnpm exec node scripts/print-states.ts`.');
    process.exitCode = 1;
  }
}
