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
  /** Wall-clock time in milliseconds. */
  readonly now: () => number;
  /** Opened on first use; `undefined` if this process runs no gateway. */
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
 * Handles a post to a webhook. P11: it is answered only once the message is durable. Its id and the hash of its
 * bytes are stored before it is handled, so a repetition on any host and after any crash is recognised, and other
 * bytes under the same id are refused.
 */
export async function receivePost(
  deps: ReceivePostDeps,
  name: string,
  posted: SignedRequest,
): Promise<PostResult> {
  const { hooks, now } = deps;
  const verified = verifySigned(posted, hooks.find(name)?.secrets ?? [], now());
  if (verified.status !== "signed") return refused(`webhook_${verified.status}`);
  const read = readMessage(posted.body);
  if (read.status === "refused") return read;
  const { message } = read;
  try {
    const updateHandler = await deps.updateHandler();
    if (updateHandler === undefined) return refused("bot_elsewhere");
    const key = webhookInboundKey(name, verified.id);
    const claimed = await claimId(deps, key, posted.body);
    if (claimed !== null) return claimed;
    const refusal = await updateHandler.handle(
      toIncoming({ hook: name, id: verified.id, message }),
    );
    if (refusal !== null) return refused("answer_refused", { detail: refusal });
    return await readOutcome(deps, key, message);
  } catch (error) {
    // Repeating the post is safe, and the store may have recovered.
    if (error instanceof RetryLater || error instanceof StoreFailure) return refused("store_busy");
    throw error;
  }
}

function readMessage(
  body: Uint8Array,
): { readonly status: "read"; readonly message: WebhookMessage } | Refused {
  let decoded: unknown;
  try {
    decoded = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return refused("malformed_json");
  }
  const parsed = webhookMessage.safeParse(decoded);
  if (parsed.success) return { status: "read", message: parsed.data };
  return refused("invalid_request", { errors: fieldErrors(parsed.error) });
}

/** `null`: the id belongs to this message. */
async function claimId(
  { store, owner }: ReceivePostDeps,
  key: string,
  body: Uint8Array,
): Promise<Refused | null> {
  const hash = createHash("sha256").update(body).digest("hex");
  const claim = { owner, key: `posted ${key}`, hash, session: null, answer: "null" };
  const stored = await store.requests.keep(claim);
  if (stored.status === "failed") return refused("store_busy");
  return stored.row.hash === hash ? null : refused("webhook_conflict");
}

/** Read from the store, so that every repetition gets the same answer. */
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
