/**
 * Owns: the recorded answer of a command under its key (D-60): an acceptance, or a refusal that stays one. A refusal
 * that may pass leaves none.
 */
export interface Receipt {
  /** Who and where: `<principal>/<workstream id>`, or `<principal>` for commands that outlive a workstream. */
  readonly scope: string;
  readonly key: string;
  /** SHA-256 (hex) of the command's name and input without the key. */
  readonly inputHash: string;
  /** Recorded without knowing whether an earlier epoch did: one that is there stays, and this one is not needed. */
  readonly unchecked?: boolean;
  /** The acceptance without its durability, or the refusal's facts, as it is answered again. */
  readonly outcome: Readonly<Record<string, unknown>>;
}

/** The one text that names a receipt: a scope has no line break. */
export const receiptKey = (key: Pick<Receipt, 'scope' | 'key'>): string => `${key.scope}\n${key.key}`;
