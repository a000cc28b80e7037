import { existsSync, statSync } from "node:fs";

function fileIdentityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * P1: a file that was deleted or replaced while it is open takes writes as before, and nobody ever sees them again.
 * So the writer makes sure, in each transaction, that the path still leads to what it has open.
 */
export class FileIdentity {
  readonly #file: string;
  readonly #identity: string | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#identity = fileIdentityOf(file);
  }

  /** Throws when the database is not where it was. */
  assertInPlace(): void {
    if (fileIdentityOf(this.#file) === this.#identity) return;
    throw new Error(
      `The database ${this.#file} was moved, deleted or replaced while it is in use. Nothing was written: put it back, or restart.`,
    );
  }

  /** Inside a transaction: then there is a log, unless someone took it away. */
  assertLogInPlace(): void {
    this.assertInPlace();
    // Not by `statSync`: a file whose times were looked at gets a new time with its next write, and the sync at the end of
    // the transaction then has to write that down too.
    if (existsSync(`${this.#file}-wal`)) return;
    throw new Error(
      `The write-ahead log of ${this.#file} was deleted while it is in use. Nothing was written: restart, and leave the -wal file alone.`,
    );
  }
}
