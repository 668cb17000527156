/**
 * Owns: `docs/weir.config.schema.json`, printed from the format of the model file. A test keeps it true.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { modelFileSchema } from '../server/src/adapters/model/file/format.ts';

export const page = fileURLToPath(new URL('../docs/weir.config.schema.json', import.meta.url));

/** What the file must hold. */
export const printed = (): string => `${JSON.stringify(modelFileSchema(), null, 2)}\n`;

if (import.meta.main) writeFileSync(page, printed());
