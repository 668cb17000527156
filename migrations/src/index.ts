/**
 * Owns: every change of tables, oldest first, for ever. `pnpm migration:new <what>` writes the next one and adds it
 * here. A migration that has been released is never edited.
 */
import { fileURLToPath } from 'node:url';
import type { Migration } from '@mikro-orm/migrations';
import { Migration20261130101330_initial } from './Migration20261130101330_initial.ts';
import { Migration20261130130912_steering } from './Migration20261130130912_steering.ts';
import { Migration20261130133000_search } from './Migration20261130133000_search.ts';
import { Migration20261130140600_lifecycle } from './Migration20261130140600_lifecycle.ts';
import { Migration20261130165943_elsewhere } from './Migration20261130165943_elsewhere.ts';
import { Migration20261130193724_left_folders } from './Migration20261130193724_left_folders.ts';
import { Migration20261130195033_usage } from './Migration20261130195033_usage.ts';
import { Migration20261130231859_folder_notes } from './Migration20261130231859_folder_notes.ts';
import { Migration20261130234000_watches } from './Migration20261130234000_watches.ts';
import { Migration20261201040040_waiting_results } from './Migration20261201040040_waiting_results.ts';
import { Migration20261201101416_folder_names } from './Migration20261201101416_folder_names.ts';

export interface NamedMigration {
  readonly name: string;
  readonly class: new (...args: ConstructorParameters<typeof Migration>) => Migration;
}

/** Where new ones are written. */
export const migrationsFolder: string = fileURLToPath(new URL('.', import.meta.url));

export const migrations: readonly NamedMigration[] = [
  { name: 'Migration20261130101330_initial', class: Migration20261130101330_initial },
  { name: 'Migration20261130130912_steering', class: Migration20261130130912_steering },
  { name: 'Migration20261130133000_search', class: Migration20261130133000_search },
  { name: 'Migration20261130140600_lifecycle', class: Migration20261130140600_lifecycle },
  { name: 'Migration20261130165943_elsewhere', class: Migration20261130165943_elsewhere },
  { name: 'Migration20261130193724_left_folders', class: Migration20261130193724_left_folders },
  { name: 'Migration20261130195033_usage', class: Migration20261130195033_usage },
  { name: 'Migration20261130231859_folder_notes', class: Migration20261130231859_folder_notes },
  { name: 'Migration20261130234000_watches', class: Migration20261130234000_watches },
  { name: 'Migration20261201040040_waiting_results', class: Migration20261201040040_waiting_results },
  { name: 'Migration20261201101416_folder_names', class: Migration20261201101416_folder_names },
];
