/** An error shaped like SQLite's own. */
function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

export const sqliteErrors = {
  busy: () => sqliteError(5, "database is locked"),
  ioError: () => sqliteError(10 | (4 << 8), "disk I/O error"),
  writeError: () => sqliteError(10 | (3 << 8), "disk I/O error"),
  readOnly: () => sqliteError(8, "attempt to write a readonly database"),
  full: () => sqliteError(13, "database or disk is full"),
  other: () => sqliteError(1, "SQL logic error"),
};
