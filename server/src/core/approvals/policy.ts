/**
 * Owns: which calls a person is asked about (D-64). Rules and a judge will answer here too; no tool goes around it (I45).
 */
import type { ApprovalMode } from 'schema/projection';
import type { Access } from './prepared.ts';

/** FREE: only looks, and leaves no row. TRUSTED: the mode answers in a person's place, and the row says so. */
export type Ruling = 'FREE' | 'ASK' | 'TRUSTED';

const rulings: Readonly<Record<Access, Readonly<Record<ApprovalMode, Ruling>>>> = {
  READ: { ASK: 'FREE', TRUST_WORKSPACE: 'FREE', TRUST_ALL: 'FREE' },
  WRITE: { ASK: 'ASK', TRUST_WORKSPACE: 'TRUSTED', TRUST_ALL: 'TRUSTED' },
  EXECUTE: { ASK: 'ASK', TRUST_WORKSPACE: 'ASK', TRUST_ALL: 'TRUSTED' },
};

export const rule = (access: Access, mode: ApprovalMode): Ruling => rulings[access][mode];
