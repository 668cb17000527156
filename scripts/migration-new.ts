/**
 * Owns: how a migration comes about: what the entities say against what the migrations make, on a database of its own
 * that is thrown away. Does not own: running migrations (`server/src/adapters/storage/orm.ts`), their list (`migrations`).
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { migrationsFolder } from '../migrations/src/index.ts';
import { startEmbeddedPostgres } from '../server/src/adapters/storage/embedded-postgres.ts';
import { openOrm, type Orm } from '../server/src/adapters/storage/orm.ts';

const what = argv.slice(2).join('_');
if (!/^[a-z][a-z0-9_]*$/.test(what)) {
  console.error('Say what changes, in lower case: pnpm migration:new add_watch_deadline');
  exit(2);
}

const dataDir = mkdtempSync(join(tmpdir(), 'weir-migration-'));
try {
  const started = await startEmbeddedPostgres({ dataDir, fsync: false });
  if (started.type === 'refused') throw new Error(started.message);
  try {
    const opened = await openOrm(started.server.connection);
    if (opened.type === 'refused') throw new Error(opened.message);
    try {
      await write(opened.orm);
    } finally {
      await opened.orm.close(true);
    }
  } finally {
    await started.server.stop();
  }
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}

async function write(orm: Orm): Promise<void> {
  const { fileName } = await orm.migrator.create(migrationsFolder, false, false, what);
  if (!fileName) {
    console.log('The entities and the migrations agree: nothing to write.');
    return;
  }
  const name = fileName.replace(/\.ts$/, '');
  const index = join(migrationsFolder, 'index.ts');
  writeFileSync(index, listed(readFileSync(index, 'utf8'), name));
  spawnSync('prettier', ['--write', join(migrationsFolder, fileName), index], { stdio: 'inherit' });
  console.log(`Wrote migrations/src/${fileName}. Read it before you commit it.`);
}

/** The text of index.ts with the migration imported last and listed last. */
function listed(text: string, name: string): string {
  const list = /(export const migrations: readonly NamedMigration\[\] = \[)([^\]]*)\]/;
  if (!list.test(text)) throw new Error('migrations/src/index.ts has no list of migrations any more');
  const lastImport = text.lastIndexOf('\nimport ');
  const end = text.indexOf('\n', text.indexOf(" from '", lastImport)) + 1;
  const imported = `${text.slice(0, end)}import { ${name} } from './${name}.ts';\n${text.slice(end)}`;
  return imported.replace(list, (_, head: string, items: string) => {
    const kept = items.trim().replace(/,$/, '');
    return `${head}${kept ? `${kept}, ` : ''}{ name: '${name}', class: ${name} }]`;
  });
}
