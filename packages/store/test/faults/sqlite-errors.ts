/** An error as SQLite's own are shaped. */
function storageError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

export const storageErrors = {
  busy: () => storageError(5, "database is locked"),
  ioError: () => storageError(10 | (4 << 8), "disk I/O error"),
  writeError: () => storageError(10 | (3 << 8), "disk I/O error"),
  readOnly: () => storageError(8, "attempt to write a readonly database"),
  full: () => storageError(13, "database or disk is full"),
  other: () => storageError(1, "SQL logic error"),
};
