/**
 * Owns: `POST /session`: a one-time code for a token. Does not own: what a code is worth (`Access.exchange`).
 * The one door without a token, so it is narrow: JSON only, small, and few tries a minute over all callers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Access } from 'schema/services';
import { answerJson, answerRefusal, readBody } from './answer.ts';
import { isStorageUnavailable, storageUnavailable } from './faults.ts';

const maxBytes = 4_096;

export type SessionRoute = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export function createSessionRoute({
  access,
  now = () => performance.now(),
}: {
  readonly access: Access;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}): SessionRoute {
  const mayTry = createRateLimit({ burst: 20, everyMs: 3_000, now });

  return async (req, res) => {
    if (req.method !== 'POST') {
      res.setHeader('allow', 'POST');
      answerRefusal(res, 405, 'METHOD_NOT_ALLOWED', 'Send the code with POST.');
      return;
    }
    // A type no form can send: a page of another origin would have to ask first.
    if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) {
      answerRefusal(res, 415, 'UNSUPPORTED_MEDIA_TYPE', 'Send the code as JSON: {"code": "…"}.');
      return;
    }
    const wait = mayTry();
    if (wait > 0) {
      res.setHeader('retry-after', String(Math.ceil(wait / 1_000)));
      answerRefusal(
        res,
        429,
        'TOO_MANY_TRIES',
        'Too many codes were tried. Wait a few seconds and try again.',
      );
      return;
    }
    const body = await readBody(req, maxBytes);
    if (body === null) {
      res.setHeader('connection', 'close');
      answerRefusal(res, 413, 'PAYLOAD_TOO_LARGE', `The body may have at most ${maxBytes} bytes.`);
      return;
    }
    const asked = askedOf(body);
    if (asked === null) {
      answerRefusal(res, 400, 'BAD_REQUEST', 'Send the code as JSON: {"code": "…"}.');
      return;
    }
    try {
      const exchanged = await access.exchange(asked.code, asked.name);
      if (exchanged) answerJson(res, 200, { token: exchanged.token });
      else
        answerRefusal(
          res,
          401,
          'CODE_NOT_VALID',
          'This link was used before, has expired, or is not from this server. Start the server again for a new one.',
        );
    } catch (error) {
      if (!isStorageUnavailable(error)) throw error;
      answerRefusal(res, 503, 'STORAGE_UNAVAILABLE', storageUnavailable);
    }
  };
}

/** A name that is no text is none: it is no reason to keep somebody out. */
function askedOf(body: Buffer): { readonly code: string; readonly name: string | null } | null {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('code' in parsed)) return null;
    const { code } = parsed;
    const name = 'name' in parsed && typeof parsed.name === 'string' ? parsed.name : null;
    return typeof code === 'string' && code.length > 0 && code.length <= 512 ? { code, name } : null;
  } catch {
    return null;
  }
}

/** `burst` tries at once, then one every `everyMs`. The returned function takes one, or says how many ms to wait. */
export function createRateLimit({
  burst,
  everyMs,
  now,
}: {
  readonly burst: number;
  readonly everyMs: number;
  readonly now: () => number;
}): () => number {
  // The moment at which all tries taken so far are paid back.
  let paidBack = -Infinity;
  return () => {
    const at = now();
    const next = Math.max(paidBack, at) + everyMs;
    const wait = next - at - burst * everyMs;
    if (wait > 0) return wait;
    paidBack = next;
    return 0;
  };
}
