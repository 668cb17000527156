/** What a client knows after these feed items: the one fold, shared by server and browser. */
export * from './blank.ts';
export * from './context.ts';
export * from './cursor.ts';
export * from './duration.ts';
export * from './entries.ts';
export * from './fire.ts';
export * from './fold.ts';
export * from './items.ts';
export * from './state.ts';
export * from './view.ts';
export * from './visible.ts';
export * from './watch-asked.ts';
export * from './watch-bounds.ts';
