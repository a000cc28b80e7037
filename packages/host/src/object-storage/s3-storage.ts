import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import {
  isObjectKey,
  type ObjectFacts,
  type ObjectStorage,
  ObjectStorageError,
  restoreAdvice,
  type StorageFailure,
  type StorageResult,
} from "./object-storage.ts";
import { explainRefusal, isTransient, parseListing, parseRefusal } from "./s3-answers.ts";

export interface S3Settings {
  readonly url: string;
  readonly region: string;
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
  /** Where the bucket's name is: in the path, or before the host's name. */
  readonly addressing: "path" | "host";
  readonly keyId: string;
  readonly secretKey: string;
}

export interface S3Limits {
  /** An attempt without any progress ends after this time. */
  readonly idleMs: number;
  readonly attempts: number;
  /** Before the second attempt at most this long, then twice as long each time. */
  readonly firstPauseMs: number;
}

const defaultLimits: S3Limits = { idleMs: 30_000, attempts: 4, firstPauseMs: 250 };
const longestPauseMs = 20_000;
/** Answers are small, besides objects: a thousand listed keys have less than 1 MB. */
const maxAnswerChars = 4_000_000;
const emptyHash = createHash("sha256").digest("hex");

interface S3Request {
  readonly method: "GET" | "PUT" | "HEAD" | "DELETE";
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly size: number; readonly sha256: string; open(): BodyInit };
}

interface Answered {
  readonly response: Response;
  readonly idle: IdleTimer;
}

/** Speaks the S3 protocol with signatures of version 4, one request at a time and no parts: objects up to 5 GB. */
export function openS3Storage(settings: S3Settings, given: Partial<S3Limits> = {}): ObjectStorage {
  const limits = { ...defaultLimits, ...given };
  const { bucket, prefix } = settings;
  const root = prefix === "" ? "" : `${prefix}/`;
  const location = `${settings.url}, bucket ${bucket}`;
  const signingKeys = new Map<string, ArrayBuffer>();

  async function attempt(request: S3Request): Promise<Answered> {
    const { method, body } = request;
    const signer = new AwsV4Signer({
      method,
      url: addressOf(settings, request),
      headers: { "x-amz-content-sha256": body?.sha256 ?? emptyHash },
      accessKeyId: settings.keyId,
      secretAccessKey: settings.secretKey,
      service: "s3",
      region: settings.region,
      cache: signingKeys,
    });
    const { url, headers } = await signer.sign();
    const idle = new IdleTimer(limits.idleMs);
    if (body !== undefined) headers.set("content-length", String(body.size));
    // What a proxy compresses has another length than the object.
    headers.set("accept-encoding", "identity");
    try {
      const opened = body?.open();
      const sent = opened instanceof ReadableStream ? idle.watch(opened) : opened;
      const response = await fetch(url, {
        method,
        headers,
        // Otherwise `fetch` copies a stream for a redirect, and holds all of it in memory.
        redirect: sent instanceof ReadableStream ? "error" : "manual",
        signal: idle.signal,
        ...(sent === undefined ? {} : { body: sent, duplex: "half" }),
      });
      idle.touch();
      return { response, idle };
    } catch (error) {
      idle.pause();
      throw error;
    }
  }

  /** Tries again while that may help. `use` reads the answer; what it throws counts as a broken connection. */
  async function send<T>(
    request: S3Request,
    what: string,
    use: (answered: Answered) => Promise<T>,
  ): Promise<StorageResult<T>> {
    const failed = (failure: StorageFailure): StorageResult<T> => ({ ok: false, failure });
    for (let tries = 1; ; tries += 1) {
      const isLast = tries >= limits.attempts;
      let retryAfterMs = 0;
      try {
        const answered = await attempt(request);
        const { response, idle } = answered;
        if (response.ok) return { ok: true, value: await use(answered) };
        const refusal = parseRefusal(response, await readText(answered));
        idle.pause();
        if (isLast || !isTransient(refusal)) return failed(explainRefusal(refusal, what, location));
        retryAfterMs = Number(response.headers.get("retry-after") ?? 0) * 1000 || 0;
      } catch (error) {
        if (!isConnectionError(error)) throw error;
        if (isLast) return failed(unreachable(error, what, location));
      }
      const pauseMs = limits.firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      await sleep(Math.min(longestPauseMs, Math.max(retryAfterMs, pauseMs)));
    }
  }

  function keyed(key: string): string {
    if (!isObjectKey(key)) throw new Error(`${JSON.stringify(key)} can't be an object's key.`);
    return root + key;
  }

  /** Something else may say yes to everything, like a web page or a proxy that wants a sign-in first. */
  const notByS3 = (what: string): { readonly ok: false; readonly failure: StorageFailure } => {
    const message = `Object storage (${location}) answered ${what} as S3 would not.`;
    const advice = "Check objectStorageUrl: it must be the address of S3 itself.";
    return { ok: false, failure: { code: "object_storage_failed", message, advice } };
  };

  const finish = async (answered: Answered): Promise<void> => {
    await readText(answered);
    answered.idle.pause();
  };

  return {
    location,
    put: async (key, body) => {
      const request = { method: "PUT", key: keyed(key), body } as const;
      const put = await send(request, `put ${key}`, async (answered) => {
        const said = await readText(answered);
        answered.idle.pause();
        return said.trim() === "" && answered.response.headers.has("etag");
      });
      if (!put.ok) return put;
      return put.value ? { ok: true, value: undefined } : notByS3(`the put of ${key}`);
    },

    get: async (key, { sha256 }) =>
      send({ method: "GET", key: keyed(key) }, `get ${key}`, async ({ response, idle }) => {
        const facts = factsOf(response);
        const body = response.body ?? new Blob([]).stream();
        const expected = { key, location, size: facts.size, sha256 };
        return { ...facts, body: checkedStream(body, idle, expected) };
      }),

    head: async (key) =>
      send({ method: "HEAD", key: keyed(key) }, `look at ${key}`, async (answered) => {
        await finish(answered);
        return factsOf(answered.response);
      }),

    delete: async (key) => {
      const deleted = await send({ method: "DELETE", key: keyed(key) }, `delete ${key}`, finish);
      const isGone = !deleted.ok && deleted.failure.code === "object_missing";
      return isGone ? { ok: true, value: undefined } : deleted;
    },

    list: async (below, after) => {
      const query = {
        "list-type": "2",
        "max-keys": "1000",
        prefix: root + below,
        ...(after === undefined ? {} : { "continuation-token": after }),
      };
      const listed = await send({ method: "GET", query }, `list ${below}`, async (answered) => {
        const page = parseListing(await readText(answered), root);
        answered.idle.pause();
        return page;
      });
      if (!listed.ok) return listed;
      // Some servers ignore where to continue, and would be asked for ever.
      if (listed.value === undefined || (after !== undefined && listed.value.next === after))
        return notByS3("a listing");
      return { ok: true, value: listed.value };
    },
  };
}

function addressOf({ url, bucket, addressing }: S3Settings, { key, query }: S3Request): string {
  const address = new URL(url);
  const base = address.pathname.replace(/\/$/, "");
  if (addressing === "host") address.hostname = `${bucket}.${address.hostname}`;
  address.pathname = [base, ...(addressing === "path" ? [bucket] : []), key ?? ""].join("/");
  for (const [name, value] of Object.entries(query ?? {})) address.searchParams.set(name, value);
  return address.href;
}

async function readText({ response, idle }: Answered): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of idle.watch(response.body)) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxAnswerChars) break;
  }
  return text;
}

function factsOf({ headers }: Response): ObjectFacts {
  return {
    size: Number(headers.get("content-length") ?? 0),
    modifiedAt: Date.parse(headers.get("last-modified") ?? "") || 0,
  };
}

interface Expected {
  readonly key: string;
  readonly location: string;
  readonly size: number;
  readonly sha256: string | undefined;
}

/** Ends with an error unless exactly the expected bytes came. */
function checkedStream(
  source: ReadableStream<Uint8Array>,
  idle: IdleTimer,
  { key, location, size, sha256 }: Expected,
): ReadableStream<Uint8Array> {
  const hash = createHash("sha256");
  let taken = 0;
  const damaged = (): ObjectStorageError => {
    const message = `The object ${key} in object storage (${location}) isn't what was stored there.`;
    return new ObjectStorageError({ code: "object_damaged", message, advice: restoreAdvice });
  };
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        idle.touch();
        const { done, value } = await reader.read();
        idle.pause();
        if (!done) {
          hash.update(value);
          taken += value.byteLength;
          if (taken > size) throw damaged();
          return controller.enqueue(value);
        }
        if (taken !== size || (sha256 !== undefined && hash.digest("hex") !== sha256))
          throw damaged();
        controller.close();
      } catch (error) {
        idle.pause();
        controller.error(
          isConnectionError(error)
            ? new ObjectStorageError(unreachable(error, `get ${key} to its end`, location))
            : error,
        );
      }
    },
    async cancel(reason) {
      idle.pause();
      await reader.cancel(reason);
    },
  });
}

/** Aborts what made no progress for a while. */
class IdleTimer {
  readonly #abort = new AbortController();
  readonly #idleMs: number;
  #timer: NodeJS.Timeout | undefined;
  readonly signal = this.#abort.signal;

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
    this.touch();
  }

  touch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const message = `no progress for ${this.#idleMs} ms`;
      this.#abort.abort(new DOMException(message, "TimeoutError"));
    }, this.#idleMs);
  }

  /** While nobody waits for the server, until the next touch. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  watch(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const touch = (): void => this.touch();
    return stream.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          touch();
          controller.enqueue(chunk);
        },
      }),
    );
  }
}

/** `fetch` reports a broken connection as a TypeError with a cause. */
function isConnectionError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error.name === "TimeoutError" || error.name === "AbortError") return true;
  return (
    error instanceof TypeError && (error.cause !== undefined || error.message === "terminated")
  );
}

function unreachable(error: Error, what: string, location: string): StorageFailure {
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
  const message = `Object storage (${location}) couldn't be reached to ${what} (${code}).`;
  const advice = "Check objectStorageUrl, the network, and whether the server runs.";
  return { code: "object_storage_unreachable", message, advice };
}
