/**
 * Owns: which calls a person is asked about. Rules, modes and a judge will answer here too; no tool goes around it
 * (D-64, I45).
 */
import type { Access } from './prepared.ts';

const asksByAccess: Readonly<Record<Access, boolean>> = { READ: false, WRITE: true, EXECUTE: true };

/** True when a person must decide before the call runs. */
export const asks = (access: Access): boolean => asksByAccess[access];
