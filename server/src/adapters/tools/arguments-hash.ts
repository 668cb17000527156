import { createHash } from 'node:crypto';

/** SHA-256 (hex) over the tool's name, a line feed and the arguments as the model wrote them: what a decision names (D-64). */
export const argumentsHash = (name: string, argumentsText: string): string =>
  createHash('sha256').update(`${name}\n${argumentsText}`).digest('hex');
