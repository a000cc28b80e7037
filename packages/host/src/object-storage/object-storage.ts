/** The port: objects in a bucket of an S3 or compatible server. Keys are below the configured prefix. */
export interface ObjectStorage {
  /** Stores the whole body or nothing; the server checks it against its digest. Putting a key again replaces it. */
  put(key: string, body: ObjectBody): Promise<StorageResult<void>>;
  /** A stream that fails with `ObjectStorageError` if the bytes don't have this digest, or stop coming. */
  get(key: string, expected: { readonly sha256?: string }): Promise<StorageResult<StoredObject>>;
  head(key: string): Promise<StorageResult<ObjectFacts>>;
  /** Succeeds if there is no such object. */
  delete(key: string): Promise<StorageResult<void>>;
  /** At most a thousand objects in the order of their keys; `after` is the `next` of the page before. */
  list(prefix: string, after?: string): Promise<StorageResult<ObjectPage>>;
  /** Where objects are, for messages: no keys or other secrets. */
  readonly location: string;
}

/** Opened again for each attempt. */
export interface ObjectBody {
  readonly size: number;
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  open(): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

export interface ObjectFacts {
  readonly size: number;
  /** By the server's clock. */
  readonly modifiedAt: number;
}

export interface StoredObject extends ObjectFacts {
  readonly body: ReadableStream<Uint8Array>;
}

export interface ListedObject extends ObjectFacts {
  readonly key: string;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  readonly next?: string;
}

export type StorageResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: StorageFailure };

export interface StorageFailure {
  readonly code: StorageFailureCode;
  /** What happened, in a sentence for a person. */
  readonly message: string;
  /** What to do next. */
  readonly advice: string;
}

export const restoreAdvice = "Restore it from a version or a backup of the bucket.";

export const storageFailureCodes = [
  /** No answer, after all retries. */
  "object_storage_unreachable",
  /** The key, the signature or the rights of the key are wrong. */
  "object_storage_denied",
  "object_storage_no_bucket",
  "object_storage_wrong_region",
  /** This machine's clock differs too much from the server's. */
  "object_storage_clock",
  /** The server asks for fewer requests, or has no room, after all retries. */
  "object_storage_busy",
  /** Any other answer that wasn't expected. */
  "object_storage_failed",
  "object_missing",
  /** The bytes aren't those that were stored. */
  "object_damaged",
] as const;

export type StorageFailureCode = (typeof storageFailureCodes)[number];

export function textOfFailure({ code, message, advice }: StorageFailure): string {
  return `${message} ${advice} [${code}]`;
}

/** Ends a stream of `get`; everywhere else failures are values. */
export class ObjectStorageError extends Error {
  override readonly name = "ObjectStorageError";
  readonly failure: StorageFailure;

  constructor(failure: StorageFailure) {
    super(textOfFailure(failure));
    this.failure = failure;
  }
}

/** Key parts must survive every server, proxy and signature unchanged. */
export function isObjectKey(key: string): boolean {
  return (
    /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/.test(key) &&
    key.length <= 700
  );
}
