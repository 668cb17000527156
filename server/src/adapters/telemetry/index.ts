/**
 * Owns: the operator's log: JSON lines on stderr by pino, so that stdout is left to what the start command prints.
 */
import { pino } from 'pino';
import type { Log } from '../../ports/log.ts';

export function createLog(level: string): Log {
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(2));
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
