/** Owns: the built client: files as they are, `index.html` for every other path of the app. */
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import sirv from 'sirv';
import { answerRefusal } from './answer.ts';

export type StaticRoute = (req: IncomingMessage, res: ServerResponse) => void;

export function createStaticRoute({
  clientDir,
  dev,
}: {
  readonly clientDir: string;
  readonly dev: boolean;
}): StaticRoute {
  const notFound: StaticRoute = (_req, res) => {
    answerRefusal(res, 404, 'NOT_FOUND', 'There is nothing at this path.');
  };
  if (!existsSync(join(clientDir, 'index.html')))
    return (_req, res) => {
      answerRefusal(res, 404, 'CLIENT_NOT_BUILT', 'The client is not built. The API is at /graphql.');
    };
  const serve = sirv(clientDir, {
    // Looked at anew for each request: it may be built again under a server that runs.
    dev: true,
    etag: true,
    gzip: true,
    brotli: true,
    single: true,
    onNoMatch: notFound,
    setHeaders: (res, path) => {
      // The build names files under assets/ by their content.
      res.setHeader(
        'cache-control',
        !dev && path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      );
    },
  });
  return (req, res) => {
    res.on('pipe', (file: Readable) => {
      // Gone since it was looked at: nobody else hears that, and the process would end.
      file.on('error', () => res.destroy());
      // Nobody else closes it for who left early.
      res.on('close', () => file.destroy());
    });
    // Of small files nobody needs a part, and the package throws at some that are asked for.
    delete req.headers.range;
    if (req.method === 'GET' || req.method === 'HEAD') serve(req, res);
    else {
      res.setHeader('allow', 'GET, HEAD');
      answerRefusal(res, 405, 'METHOD_NOT_ALLOWED', 'There is nothing to send to at this path.');
    }
  };
}
