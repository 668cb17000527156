/** Thrown by reads of every store when the database does not answer; callers may try again. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}

/** For `catch`: the value when the database is away; any other error is thrown again. */
export const whenAway =
  <T>(value: T) =>
  (error: unknown): T => {
    if (error instanceof StorageUnavailableError) return value;
    throw error;
  };
