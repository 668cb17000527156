/** Owns: the number of a transaction as a column: 64 bits, never used again. Read in SQL alone. */
import { Type } from '@mikro-orm/core';

export class Xid8 extends Type<string, string> {
  override getColumnType(): string {
    return 'xid8';
  }
}
