import type { Context } from "hono";
import { z } from "zod";
import { type SessionId, sessionId } from "@holdfast/protocol";
import type { ProtocolProblem } from "../http/protocol.ts";
import type { HostEnv } from "../http/routing.ts";
import { isRefusal, refuse, type Refusal } from "./errors.ts";
import type { Repetition, Target } from "./place-turn.ts";
import { hashOf } from "./session-hints.ts";

/** Images come inside the body. */
export const maxRequestBytes = 32 * 1024 * 1024;

/** Reads a JSON object; `raw` identifies a repeated request. */
export async function readBody<T>(
  c: Context<HostEnv>,
  schema: z.ZodType<T>,
): Promise<{ readonly body: T; readonly raw: string } | Refusal> {
  const raw = await c.req.text().catch(() => undefined);
  if (raw === undefined)
    return refuse(400, "incomplete_body", "The body ended before it was whole.");
  let value: unknown;
  try {
    value = JSON.parse(raw === "" ? "{}" : raw);
  } catch {
    return refuse(400, "malformed_json", "The body is not valid JSON. Send a JSON object.");
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { body: parsed.data, raw };
  const [issue] = parsed.error.issues;
  const param = issue?.path.join(".") ?? "";
  const where = param === "" ? "The body" : param;
  return refuse(
    400,
    "invalid_request",
    `${where}: ${issue?.message ?? "not as expected"}.`,
    param || undefined,
  );
}

/** Fields that both ways of asking share. Unknown ones are tolerated, as the protocol says. */
export const sharedFields = {
  model: z.string().max(200).optional(),
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  tool_choice: z.unknown().optional(),
};

/** Its own tools are ignored with a warning; a call that it insists on cannot be made. */
export function checkTools({
  tools,
  tool_choice: choice,
}: {
  tools?: readonly unknown[] | null | undefined;
  tool_choice?: unknown;
}): string | undefined | Refusal {
  if (
    choice === "required" ||
    (typeof choice === "object" && choice !== null && !isAutoAllowed(choice))
  )
    return refuse(
      400,
      "unsupported_tool_choice",
      "Holdfast calls its own tools, as its model decides, and none of a client. Leave tool_choice out, or send auto.",
      "tool_choice",
    );
  if (!tools || tools.length === 0) return undefined;
  return "tools were ignored: Holdfast uses its own";
}

const autoAllowed = z.looseObject({ type: z.literal("allowed_tools"), mode: z.literal("auto") });

function isAutoAllowed(choice: object): boolean {
  const nested = "allowed_tools" in choice ? choice.allowed_tools : choice;
  return autoAllowed.safeParse({ type: "allowed_tools", ...(nested as object) }).success;
}

const headerText = /^[\x21-\x7e]{1,200}$/;

/** The conversation that the headers name, if any. */
export function targetOfHeaders(c: Context<HostEnv>): Target | Refusal {
  const given = c.req.header("x-holdfast-session-id") ?? c.req.header("x-hermes-session-id");
  if (given !== undefined) {
    const id = sessionId.safeParse(given);
    if (id.success) return { kind: "session", session: id.data };
    return named("session", given, false);
  }
  const chat = c.req.header("x-openwebui-chat-id");
  return chat === undefined ? { kind: "history" } : named("openwebui", chat, true);
}

function named(space: string, name: string, tellsHistory: boolean): Target | Refusal {
  if (headerText.test(name)) return { kind: "name", name: `${space} ${name}`, tellsHistory };
  return refuse(
    400,
    "invalid_session_id",
    "A session's name has 1 to 200 printable characters, without spaces.",
  );
}

export function repetitionOf(
  c: Context<HostEnv>,
  route: string,
  raw: string,
): Repetition | Refusal {
  const key = c.req.header("idempotency-key");
  if (key !== undefined && !headerText.test(key))
    return refuse(
      400,
      "invalid_idempotency_key",
      "An Idempotency-Key has 1 to 200 printable characters.",
    );
  const retries = Number(c.req.header("x-stainless-retry-count") ?? "0");
  return { bodyHash: hashOf(`${route} ${raw}`), key, isRetry: retries >= 1 };
}

/** For whatever was admitted: the client's library must not send it again by itself. */
export function acceptedHeaders(
  session: SessionId,
  warning: string | undefined,
): Record<string, string> {
  return {
    "x-should-retry": "false",
    "x-holdfast-session-id": session,
    ...(warning !== undefined && { "x-holdfast-warning": warning }),
  };
}

export type Outcome<T> = T | Refusal | { readonly problem: ProtocolProblem };

export function isOutcome<T extends object>(value: Outcome<T>): value is T {
  return !isRefusal(value) && !("problem" in value);
}
