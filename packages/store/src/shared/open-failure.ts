export type OpenFailureCode =
  | "schema_too_new"
  | "schema_locked"
  | "store_pooled"
  | "sqlite_unsafe"
  | "file_system_unsafe"
  | "not_a_store"
  | "store_unavailable";

/** Why a store could not be opened; the message says what to do. */
export class OpenFailure extends Error {
  readonly code: OpenFailureCode;
  constructor(code: OpenFailureCode, message: string) {
    super(message);
    this.name = "OpenFailure";
    this.code = code;
  }
}
