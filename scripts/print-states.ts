/**
 * Owns: `docs/guide/states.md`, printed from the state table of the core. `--check` fails when the page is not what
 * would be printed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { shown, table, told } from '../server/src/core/workstream/table.ts';
import type { Cell, Situation, TableEvent } from '../server/src/core/workstream/table.ts';

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
    'CREATING becomes IDLE when the workstream is published, and CLOSED and IDLE change into each other by close and open;',
    'no event of the table does that. **Close and open are not in the API yet**, so no workstream is CLOSED today.',
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
    '| situation | shown | stopping | meaning |',
    '|---|---|---|---|',
    ...situations.map((s) => {
      const { state, stopping, meaning } = shown[s];
      return `| ${s} | ${state} | ${stopping ? 'yes' : ''} | ${meaning} |`;
    }),
    '',
    '## Every cell',
    '',
    'A situation: the event is taken and this is shown next. `CODE`: the command is refused with it and changes nothing.',
    '·: nothing is under way that it could be about, and nothing comes of it. fenced: it dies at the door.',
    '',
    `| event | ${situations.join(' | ')} |`,
    `|---|${situations.map(() => '---|').join('')}`,
    ...events.map((e) => `| ${told[e]} | ${situations.map((s) => cellText(s, table[s][e])).join(' | ')} |`),
    '',
  ].join('\n');
  return format(text, { ...(await resolveConfig(page)), filepath: page });
}

function cellText(here: Situation, cell: Cell): string {
  switch (cell.type) {
    case 'taken':
      return cell.to === here ? 'stays' : cell.to;
    case 'refused':
      return `\`${cell.code}\``;
    case 'ignored':
      return cell.because === 'FENCED' ? 'fenced' : '·';
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
