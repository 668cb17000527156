/**
 * Owns: what an error of the database means for the caller: the database is away (try again), or it refuses the data
 * (trying again cannot help). Messages made here never quote the data.
 */
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';

export type Fault =
  | { readonly type: 'unavailable'; readonly message: string }
  | { readonly type: 'conflict'; readonly message: string };

/** Thrown inside a transaction to roll it back with a fault that is already known. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

/**
 * SQLSTATE classes in which the statement or its data is at fault: not supported, cardinality, data, constraint,
 * transaction state, syntax or name, check option, program limit, PL/pgSQL. All others say something about the
 * server's state: connection, resources, operator, system, deadlock, credentials, wrong database.
 */
const dataClasses = new Set(['0A', '21', '22', '23', '42', '44', '54', 'P0']);
/** Inside class 08 (connection), this one says that the message itself was malformed: it would be so again. */
const protocolViolation = '08P01';
/** Driver errors that carry neither a SQLSTATE nor an errno. */
const lostConnection =
  /connection terminated|connection timeout|timeout exceeded when trying to connect|not queryable|client was closed|connection error|ended the connection|driver has already been destroyed|cannot use a pool after/i;

export function faultOf(error: unknown): Fault {
  if (error instanceof FaultError) return error.fault;
  const { code, constraint, message } = parts(error);
  if (/^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')) {
    const refused = dataClasses.has(code.slice(0, 2)) || code === protocolViolation;
    const detail = constraint ? `${code}, ${constraint}` : code;
    return refused
      ? { type: 'conflict', message: `The database refuses the data (${detail}).` }
      : { type: 'unavailable', message: `The database cannot answer now (${code}).` };
  }
  // Node's own words: ECONNREFUSED, ENOENT (no socket), EPIPE, ENOTFOUND, …
  if (/^(E[A-Z]+|EAI_[A-Z]+)$/.test(code))
    return { type: 'unavailable', message: `The database does not answer (${code}).` };
  // The connection may be well, and the statement too much for the time there is.
  if (/query read timeout/i.test(message))
    return { type: 'unavailable', message: 'The database does not answer in time.' };
  if (lostConnection.test(message))
    return { type: 'unavailable', message: 'The connection to the database was lost.' };
  return { type: 'conflict', message: `Storing failed for a reason inside Weir (${nameOf(error)}).` };
}

/** Runs a read or a small write; the database being away comes out as StorageUnavailableError, the rest as it is. */
export async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = faultOf(error);
    if (fault.type === 'unavailable') throw new StorageUnavailableError(fault.message, { cause: error });
    throw error;
  }
}

function parts(error: unknown): { code: string; constraint: string; message: string } {
  const e = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const text = (key: string) => (typeof e[key] === 'string' ? e[key] : '');
  return { code: text('code'), constraint: text('constraint'), message: text('message') };
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
