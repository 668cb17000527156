/** Owns: short JSON answers outside of GraphQL, and reading small bodies. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export function answerJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  res.end(JSON.stringify(body));
}

/** `message` is one sentence for a person: what is wrong and what to do. */
export const answerRefusal = (res: ServerResponse, status: number, code: string, message: string): void => {
  answerJson(res, status, { error: { code, message } });
};

/** In the form a GraphQL client expects. */
export function answerGraphQLError(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  code: string,
  message: string,
): void {
  const modern = req.headers.accept?.includes('application/graphql-response+json') ?? false;
  res.writeHead(status, {
    'content-type': `${modern ? 'application/graphql-response+json' : 'application/json'}; charset=utf-8`,
    'cache-control': 'no-store',
  });
  res.end(JSON.stringify({ errors: [{ message, extensions: { code } }] }));
}

/** The body, or null when it is longer than `limit` bytes; the rest of it is then thrown away unread. */
export async function readBody(req: IncomingMessage, limit: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req as AsyncIterable<Buffer>) {
    size += part.byteLength;
    if (size > limit) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
