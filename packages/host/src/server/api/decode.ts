import { fieldErrors, type Route as ContractRoute } from "@holdfast/protocol";
import type { HonoRequest } from "hono";
import type { z } from "zod";

import { incompleteBody } from "../http/body-limit.ts";
import { readMediaType } from "./endpoint.ts";
import { answer, problem, type ProblemReply, type Reply } from "./reply.ts";

export interface DecodedRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
}

/** A body that is kept as it came. */
export interface BinaryBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
}

/** What a request says, as far as its route has a schema for it. Nothing passes that a schema has not let through. */
export async function decodeRequest(
  request: HonoRequest,
  route: ContractRoute,
): Promise<Reply<DecodedRequest>> {
  const head = decodeHead(request, route);
  if (head.kind === "problem" || route.body === undefined) return head;
  const body = await decodeBody(request, route.body);
  return body.kind === "problem" ? body : answer({ ...head.value, body: body.value });
}

/** All of a request but its body: what is there when it arrives. Only what has a schema is looked at. */
export function decodeHead(request: HonoRequest, route: ContractRoute): Reply<DecodedRequest> {
  const params = decodeField(route.params, () => request.param());
  if (params.kind === "problem") return params;
  const query = decodeField(route.query, () => readQuery(request));
  if (query.kind === "problem") return query;
  const headers = decodeField(route.headers, () => request.header());
  if (headers.kind === "problem") return headers;
  const [given, asked, told] = [params.value, query.value, headers.value];
  return answer({ params: given, query: asked, headers: told, body: undefined });
}

/** A name that is given twice is a list, which no schema of the contract takes. */
function readQuery(request: HonoRequest): Record<string, string | string[] | undefined> {
  const given = Object.entries(request.queries());
  return Object.fromEntries(
    given.map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function decodeField(schema: z.ZodType | undefined, read: () => unknown): Reply<unknown> {
  if (schema === undefined) return noValue;
  return decodeValue(schema, read());
}

const noValue = answer(undefined);

function decodeValue(schema: z.ZodType, value: unknown): Reply<unknown> {
  const parsed = schema.safeParse(value);
  return parsed.success ? answer(parsed.data) : invalidRequest(parsed.error);
}

async function decodeBody(
  request: HonoRequest,
  schema: Exclude<ContractRoute["body"], undefined>,
): Promise<Reply<unknown>> {
  const type = request.header("content-type");
  const bytes = await request.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return problem("invalid_request", incompleteBody);
  return schema === "bytes" ? decodeBytes(type, bytes) : decodeJson(schema, type, bytes);
}

function decodeBytes(type: string | undefined, bytes: ArrayBuffer): Reply<BinaryBody> {
  const mediaType = readMediaType(type);
  if (mediaType.kind === "problem") return mediaType;
  return answer({ mediaType: mediaType.value, bytes: new Uint8Array(bytes) });
}

function decodeJson(
  schema: z.ZodType,
  type: string | undefined,
  bytes: ArrayBuffer,
): Reply<unknown> {
  // Where everything may be left out, the body may be too.
  if (type === undefined && bytes.byteLength === 0) return decodeValue(schema, {});
  if (!/^application\/json\s*(;|$)/i.test(type ?? "")) return problem("unsupported_media_type");
  const json = parseJson(bytes);
  return json === undefined ? problem("malformed_json") : decodeValue(schema, json.value);
}

function parseJson(bytes: ArrayBuffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

function invalidRequest(error: z.core.$ZodError): ProblemReply {
  return problem("invalid_request", { errors: fieldErrors(error) });
}
