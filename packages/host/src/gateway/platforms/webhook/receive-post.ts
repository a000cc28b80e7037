import { createHash } from "node:crypto";

import { type Store, StoreFailure } from "@holdfast/engine";
import {
  fieldErrors,
  type OwnerId,
  type ProblemCode,
  type ProblemDetails,
  type RunId,
  type SessionId,
  type WebhookMessage,
  webhookMessage,
} from "@holdfast/protocol";

import { type SignedRequest, verifySigned } from "../../../util/webhook-signature.ts";
import { parseButtonAnswer } from "../../approval-message.ts";
import type { UpdateHandler } from "../../inbound/handle-update.ts";
import { RetryLater } from "../../inbound/admit-message.ts";
import { type WebhookLookup, webhookInboundKey } from "./webhook.ts";
import { toIncoming } from "./message.ts";

export interface ReceivePostDeps {
  readonly hooks: WebhookLookup;
  readonly store: Pick<Store, "reads" | "requests">;
  readonly owner: OwnerId;
  /** By the clock on the wall, in milliseconds. */
  readonly now: () => number;
  /** Made ready when it is first needed; `undefined` where this process has no gateway. */
  readonly updateHandler: () => Promise<Pick<UpdateHandler, "handle"> | undefined>;
}

export type PostResult =
  | { readonly status: "taken"; readonly sessionId: SessionId; readonly runId: RunId | null }
  | {
      readonly status: "refused";
      readonly code: ProblemCode;
      readonly details?: ProblemDetails;
    };

/**
 * What is posted to a hook. P11: answered when what came is durable. Its id and the hash of its bytes are written down before it
 * is acted on, so that the same again, on whichever host and after whichever crash, is the same, and other bytes never are.
 */
export async function receivePost(
  parts: ReceivePostDeps,
  name: string,
  posted: SignedRequest,
): Promise<PostResult> {
  const { hooks, now } = parts;
  const verified = verifySigned(posted, hooks.find(name)?.secrets ?? [], now());
  if (verified.status !== "signed") return refused(`webhook_${verified.status}`);
  const read = readMessage(posted.body);
  if (read.status === "refused") return read;
  const { message } = read;
  try {
    const reception = await parts.updateHandler();
    if (reception === undefined) return refused("bot_elsewhere");
    const key = webhookInboundKey(name, verified.id);
    const claimed = await claimId(parts, key, posted.body);
    if (claimed !== null) return claimed;
    const told = await reception.handle(toIncoming({ hook: name, id: verified.id, message }));
    if (told !== null) return refused("answer_refused", { detail: told });
    return await readOutcome(parts, key, message);
  } catch (error) {
    // The same again is safe, and may find the store well.
    if (error instanceof RetryLater || error instanceof StoreFailure) return refused("store_busy");
    throw error;
  }
}

function readMessage(
  body: Uint8Array,
): { readonly status: "read"; readonly message: WebhookMessage } | Refused {
  let given: unknown;
  try {
    given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return refused("malformed_json");
  }
  const parsed = webhookMessage.safeParse(given);
  if (parsed.success) return { status: "read", message: parsed.data };
  return refused("invalid_request", { errors: fieldErrors(parsed.error) });
}

/** `null`: it is this message's, now or since before. */
async function claimId(
  { store, owner }: ReceivePostDeps,
  key: string,
  body: Uint8Array,
): Promise<Refused | null> {
  const hash = createHash("sha256").update(body).digest("hex");
  const claimed = { owner, key: `posted ${key}`, hash, session: null, answer: "null" };
  const kept = await store.requests.keep(claimed);
  if (kept.status === "failed") return refused("store_busy");
  return kept.row.hash === hash ? null : refused("webhook_conflict");
}

/** Read from the store, so that it is the same however often it came. */
async function readOutcome(
  { store: { reads }, owner }: ReceivePostDeps,
  key: string,
  { answer }: WebhookMessage,
): Promise<PostResult> {
  const pressed = answer === undefined ? null : parseButtonAnswer(answer);
  const row =
    pressed === null
      ? await reads.inbound(owner, key)
      : await reads.approval(owner, pressed.approval);
  if (row === null) return refused("invalid_request", { detail: "It could not be taken." });
  const { session: sessionId, runId } = row;
  return { status: "taken", sessionId, runId };
}

type Refused = Extract<PostResult, { status: "refused" }>;

function refused(code: ProblemCode, details?: ProblemDetails): Refused {
  return { status: "refused", code, ...(details && { details }) };
}
