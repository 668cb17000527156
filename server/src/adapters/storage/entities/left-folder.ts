/**
 * Owns: which folders that were made for workstreams were left by one of them that is gone, and not let go yet
 * (`removal.ts`). Written by a trigger of `workstream`, whoever deletes, so that no lost answer, no process that dies and
 * no server that is away makes a folder be forgotten.
 */
import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'LeftFolderRow',
  tableName: 'left_folder',
  properties: {
    path: p.text().primary(),
    at: p.datetime(3).defaultRaw('clock_timestamp()'),
  },
});
export class LeftFolderRow extends schema.class {}
schema.setClass(LeftFolderRow);
