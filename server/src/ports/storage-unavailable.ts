/** Thrown by reads of every store when the database does not answer; callers may try again. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}
