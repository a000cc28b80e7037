import {
  type Log,
  type MemoryCommitter,
  type Runner,
  admitMessage,
  type Admission,
  type Failed,
  acceptInput,
  type NewInput,
} from "@holdfast/engine";
import { type Client } from "@holdfast/client";
import {
  type IdSource,
  type LaneKey,
  newEvent,
  type OwnerId,
  type SessionId,
  type Attachment,
  type InputMode,
  type QuotedRanges,
  type SessionMode,
} from "@holdfast/protocol";
import type { RightsResolver } from "../../rights/resolve-rights.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { PlatformAdapter, IncomingFile } from "../adapter.ts";
import type { Dispatcher } from "../outbound/dispatcher.ts";
import type { ChatTitles } from "./chat-titles.ts";
import type { ChatAccess } from "./chat-access.ts";
import {
  type ChatAddressing,
  newSessionSettings,
  sessionForLane,
  sessionOfLane,
} from "../lanes.ts";
import { safeFileName } from "../../util/safe-file-name.ts";

/** The store failed, so the update must not be confirmed: the platform delivers it again later. */
export class RetryLater extends Error {}

export interface InboundDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly client: Client;
  readonly runner: Pick<Runner, "notify">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly owner: OwnerId;
  readonly access: Pick<ChatAccess, "isAllowed" | "requestPairing" | "rightsOf">;
  /** Remembers chats' display names. */
  readonly titles: Pick<ChatTitles, "remember">;
  readonly rights: Pick<RightsResolver, "ofLane">;
  readonly newSessionMode?: SessionMode | undefined;
  /** Called when a session has something to deliver. */
  readonly dispatcher: Pick<Dispatcher, "notify">;
}

export interface AdmitDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly owner: OwnerId;
  readonly newSessionMode?: SessionMode | undefined;
}

export interface InboundMessage {
  readonly key: string;
  readonly clientId: string;
  readonly lane: LaneKey;
  readonly replyTo: string | null;
  readonly text: string;
  readonly mode: InputMode;
  readonly files: readonly IncomingFile[];
  readonly quoted: QuotedRanges;
}

export type AdmitResult =
  | { readonly status: "admitted"; readonly session: SessionId }
  /** It was admitted before, in this session or in the one the lane pointed at then. */
  | { readonly status: "taken"; readonly session: SessionId }
  | { readonly status: "unreadable"; readonly file: string; readonly reason: string }
  /** It may be readable later. */
  | { readonly status: "away"; readonly file: string; readonly reason: string }
  | Exclude<Admission, { status: "accepted" }>;

/** P11: a message becomes at most one turn, whatever else happens. */
export async function admitChatMessage(
  deps: AdmitDeps,
  message: InboundMessage,
): Promise<AdmitResult> {
  const { log, ids, owner } = deps;
  const earlier = await log.store.reads.inbound(owner, message.key);
  if (earlier !== null) return { status: "taken", session: earlier.session };
  const attachments: Attachment[] = [];
  for (const file of message.files) {
    const stored = await storeFile(deps, file);
    if (stored.status === "failed") return stored;
    if (stored.status !== "stored") return { ...stored, file: safeFileName(file.name) };
    attachments.push(stored.attachment);
  }
  const { key, replyTo, clientId, lane, text, mode, quoted } = message;
  const taint = deps.adapter.strangers?.(lane) ?? [];
  const input = {
    owner,
    clientId,
    text,
    mode,
    lane,
    inbound: { key, ...(replyTo !== null && { replyTo }) },
    ...(attachments.length > 0 && { attachments }),
    quoted,
    taint,
  };
  const existing = await sessionOfLane(deps, lane);
  const admitted = existing === null ? await admitWithNewSession(deps, input, key) : null;
  if (admitted !== null) return admitted;
  const session = existing ?? (await sessionForLane(deps, lane, key));
  const admission = await admitMessage(log, ids, { ...input, session });
  if (admission.status === "accepted") return { status: "admitted", session };
  if (admission.status === "refused" && admission.code === "inbound_taken")
    return { status: "taken", session };
  return admission;
}

/**
 * Creates a lane's session in the same transaction as its first message: one sync for both. All ids derive from
 * the message, so two hosts that see it make the same commit. `null`: the commit was refused, and the caller takes the
 * slow path.
 */
async function admitWithNewSession(
  deps: AdmitDeps,
  input: Omit<NewInput, "session"> & { readonly lane: LaneKey },
  key: string,
): Promise<AdmitResult | null> {
  const { log, owner } = deps;
  const { lane } = input;
  const ids = deterministicIds(`lane ${lane} ${key}`);
  const session = ids.make("session");
  const created = [
    newEvent(ids.make("event"), "session.created", await newSessionSettings(deps, lane)),
    newEvent(ids.make("event"), "lane.bound", { lane }),
  ];
  const { events, refused } = await acceptInput(ids, { ...input, session });
  if (refused !== undefined) return null;
  const result = await log.commit({ owner, session, events: [...created, ...events] });
  if (result.status === "failed") return result;
  return result.status === "committed" ? { status: "admitted", session } : null;
}

async function storeFile(
  { adapter, log, owner }: AdmitDeps,
  file: IncomingFile,
): Promise<
  | { readonly status: "stored"; readonly attachment: Attachment }
  | { readonly status: "unreadable" | "away"; readonly reason: string }
  | Failed
> {
  const fetched = await adapter.fetchFile(file, AbortSignal.timeout(60_000));
  if (fetched.status === "too_large")
    return unreadable(`it is larger than ${Math.floor(adapter.limits.fileBytes / 1024 / 1024)} MB`);
  if (fetched.status === "refused") return unreadable(fetched.message);
  if (fetched.status !== "fetched") return { status: "away", reason: fetched.message };
  const { bytes } = fetched;
  const result = await log.store.putBlob(owner, bytes, file.mediaType);
  // The message waits with its file for as long as the store is failing.
  if (result.status !== "stored") return result;
  const { id: blobId, size } = result;
  const { mediaType } = file;
  const name = safeFileName(file.name);
  const attachment: Attachment =
    file.kind === "image"
      ? { type: "image", blobId, mediaType, name }
      : { type: "file", blobId, name, mediaType, size };
  return { status: "stored", attachment };
}

function unreadable(reason: string) {
  return { status: "unreadable", reason } as const;
}
