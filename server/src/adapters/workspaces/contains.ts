import { isAbsolute, relative } from 'node:path';

/** True for a folder itself and all below it; both are real paths. */
export const contains = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
};
