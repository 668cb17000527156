/**
 * Owns: the need to tell an operator. Never given secrets, message texts or tool output; of what a model
 * endpoint said about a failure, the one line a person is shown.
 */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
