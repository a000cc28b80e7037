import { Parser } from "htmlparser2";
import {
  type ListedObject,
  type ObjectPage,
  restoreAdvice,
  type StorageFailure,
} from "./object-storage.ts";

/** What a server says about a request that it refused. */
export interface S3Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** By its own clock. */
  readonly date: string | null;
  /** It says nothing, like every answer to HEAD. */
  readonly isEmpty: boolean;
}

/** S3's own answers are four levels deep. The parser needs quadratic time for deep ones. */
const maxDepth = 16;

/** The text of each element without children, in order. Nothing after what no answer of S3 has. */
function* textsIn(xml: string): Generator<readonly [string, string]> {
  const found: [string, string][] = [];
  let text = "";
  let depth = 0;
  const parser = new Parser(
    {
      onopentag: () => {
        text = "";
        depth += 1;
        if (depth > maxDepth) parser.pause();
      },
      ontext: (piece) => void (text += piece),
      onclosetag: (name) => {
        depth -= 1;
        found.push([name, text]);
        text = "";
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
  yield* found;
}

export function parseRefusal(response: Response, body: string): S3Refusal {
  const texts = new Map([...textsIn(body)].toReversed());
  return {
    status: response.status,
    code: plainText(texts.get("Code") ?? ""),
    message: plainText(texts.get("Message") ?? ""),
    date: response.headers.get("date"),
    isEmpty: body === "",
  };
}

/** For logs and terminals. */
function plainText(said: string): string {
  return said.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, maxMessageLength);
}
const maxMessageLength = 300;

/** Undefined if it isn't a listing. `prefix` is removed from each key. */
export function parseListing(body: string, prefix: string): ObjectPage | undefined {
  const objects: ListedObject[] = [];
  let object: { key?: string; size?: number; modifiedAt?: number } = {};
  let isListing = false;
  let isTruncated = false;
  let next: string | undefined;
  for (const [name, text] of textsIn(body)) {
    switch (name) {
      case "Key":
        object.key = text;
        break;
      case "Size":
        object.size = Number(text);
        break;
      case "LastModified":
        object.modifiedAt = Date.parse(text);
        break;
      case "Contents": {
        const { key, size, modifiedAt } = object;
        object = {};
        if (key?.startsWith(prefix) && Number.isSafeInteger(size) && Number.isFinite(modifiedAt))
          objects.push({
            key: key.slice(prefix.length),
            size: size ?? 0,
            modifiedAt: modifiedAt ?? 0,
          });
        break;
      }
      case "IsTruncated":
        isTruncated = text === "true";
        break;
      case "NextContinuationToken":
        next = text;
        break;
      case "ListBucketResult":
        isListing = true;
        break;
    }
  }
  if (!isListing) return undefined;
  return isTruncated && next !== undefined ? { objects, next } : { objects };
}

/** These get better by waiting. */
export function isTransient({ status, code }: S3Refusal): boolean {
  return status >= 500 || status === 429 || code === "SlowDown" || code === "RequestTimeout";
}

const deniedCodes: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: "The server doesn't know this access key: check objectStorageKeyId.",
  SignatureDoesNotMatch:
    "The secret doesn't belong to this access key: check objectStorageSecretKey.",
  ExpiredToken: "The access key has expired: set a new one.",
};
const rightsNeeded =
  "Allow this key GetObject, PutObject and DeleteObject below the prefix, and ListBucket.";

/** What a refusal means to the operator. `what` says what was tried, like `put blobs/a`. */
export function explainRefusal(refusal: S3Refusal, what: string, location: string): StorageFailure {
  const { status, code, date } = refusal;
  const said = [`HTTP ${status}`, code, refusal.message].filter((text) => text !== "").join(", ");
  const at = `Object storage (${location}) refused to ${what}`;
  if (code === "NoSuchBucket")
    return {
      code: "object_storage_no_bucket",
      message: `${at}: there is no such bucket.`,
      advice: "Create the bucket, or correct objectStorageBucket.",
    };
  if (code === "RequestTimeTooSkewed")
    return {
      code: "object_storage_clock",
      message: `${at}: this machine's clock is at ${new Date().toISOString()}, the server's at ${date ?? "another time"}.`,
      advice: "Set the clock, ideally with NTP.",
    };
  if (code === "AuthorizationHeaderMalformed" || (status >= 300 && status < 400))
    return {
      code: "object_storage_wrong_region",
      message: `${at}: the bucket is in another region or at another address (${said}).`,
      advice: "Correct objectStorageRegion or objectStorageUrl.",
    };
  if (status === 401 || status === 403)
    return {
      code: "object_storage_denied",
      message: `${at} (${said}).`,
      advice: deniedCodes[code] ?? rightsNeeded,
    };
  // Whatever else answers in its place doesn't know the objects.
  if (status === 404 && (code === "NoSuchKey" || refusal.isEmpty))
    return {
      code: "object_missing",
      message: `${at}: there is no such object.`,
      advice: restoreAdvice,
    };
  if (isTransient(refusal))
    return {
      code: "object_storage_busy",
      message: `${at}, even when asked again (${said}).`,
      advice: "Try again later, and check the server's load and disk.",
    };
  return {
    code: "object_storage_failed",
    message: `${at} (${said}).`,
    advice: "Check objectStorageUrl, and the server's own log.",
  };
}
