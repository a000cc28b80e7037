import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Written from the published description of Signature Version 4, with nothing of the client's own signing code. */

export interface ServerKeys {
  readonly keyId: string;
  readonly secretKey: string;
  readonly region: string;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

type SignedRequest = Pick<IncomingMessage, "method" | "url" | "headers">;

const maxSkewMs = 15 * 60_000;
const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/** Undefined if the signature is right. The body is compared with `x-amz-content-sha256` by the caller. */
export function verifySignature(
  request: SignedRequest,
  keys: ServerKeys,
  now: number,
): Refusal | undefined {
  const { headers } = request;
  const [, keyId, day, region, names = "", signature = ""] =
    authorization.exec(headers.authorization ?? "") ?? [];
  if (keyId === undefined || day === undefined || region === undefined)
    return { status: 403, code: "AccessDenied", message: "Access Denied." };
  if (keyId !== keys.keyId)
    return { status: 403, code: "InvalidAccessKeyId", message: "There is no such access key." };
  if (region !== keys.region) {
    const message = `The region '${region}' is wrong; expecting '${keys.region}'`;
    return { status: 400, code: "AuthorizationHeaderMalformed", message };
  }
  const time = String(headers["x-amz-date"]);
  const at = Date.parse(
    time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
  if (!(Math.abs(now - at) <= maxSkewMs) || !time.startsWith(day))
    return { status: 403, code: "RequestTimeTooSkewed", message: "The clocks differ too much." };
  const signed = names.split(";");
  if (!["host", "x-amz-content-sha256", "x-amz-date"].every((name) => signed.includes(name)))
    return { status: 403, code: "AccessDenied", message: "A header must be signed, and isn't." };

  const scope = `${day}/${region}/s3/aws4_request`;
  const canonical = createHash("sha256").update(canonicalRequest(request, signed)).digest("hex");
  const text = ["AWS4-HMAC-SHA256", time, scope, canonical].join("\n");
  const key = [day, region, "s3", "aws4_request"].reduce<Buffer | string>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${keys.secretKey}`,
  );
  const expected = createHmac("sha256", key).update(text).digest();
  if (timingSafeEqual(expected, Buffer.from(signature, "hex"))) return undefined;
  return { status: 403, code: "SignatureDoesNotMatch", message: "The signature is wrong." };
}

function canonicalRequest({ method, url = "/", headers }: SignedRequest, signed: string[]): string {
  const [path = "/", query = ""] = url.split("?", 2);
  const pairs = query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => pair.split("=", 2).map((part) => encode(decode(part.replaceAll("+", " ")))))
    .map(([name, value = ""]) => `${name}=${value}`)
    .toSorted();
  const lines = signed.map((name) => {
    const value = headers[name] ?? "";
    return `${name}:${String(value).trim().replace(/ +/g, " ")}\n`;
  });
  return [
    method,
    path
      .split("/")
      .map((part) => encode(decode(part)))
      .join("/"),
    pairs.join("&"),
    lines.join(""),
    signed.join(";"),
    headers["x-amz-content-sha256"],
  ].join("\n");
}

const decode = decodeURIComponent;

function encode(text: string): string {
  const percent = (c: string): string => `%${c.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, percent);
}
