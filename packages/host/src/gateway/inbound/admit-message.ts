import {
  type CommitResult,
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
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { PlatformAdapter, IncomingFile } from "../adapter.ts";
import type { ChatTitles } from "./chat-titles.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import type { ChatAccess } from "./chat-access.ts";
import { sessionForLane, sessionOfLane } from "../lane-session.ts";
import { safeFileName } from "../../util/safe-file-name.ts";

/** The platform could be told, and the store could not: the same comes again later. */
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
  /** Takes what people call a chat. */
  readonly titles: Pick<ChatTitles, "remember">;
  /** Something is owed to a chat in this session. */
  readonly notifyOutbox: (session: SessionId) => void;
}

/** A lane points at another session from here on. */
export async function bindLane(
  { log, owner, memory }: Pick<InboundDeps, "log" | "owner" | "memory">,
  lane: LaneKey,
  to: SessionId,
  key: string,
): Promise<CommitResult["status"]> {
  const before = await log.store.reads.lane(owner, lane);
  const event = newEvent(deterministicIds(`move ${key}`).make("event"), "lane.bound", { lane });
  const { status } = await log.commit({ owner, session: to, events: [event], touch: "quiet" });
  if (before !== null && before !== to) void memory.boundary(owner, before, "lane_switch");
  return status;
}

export interface AdmitDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly owner: OwnerId;
}

export interface InboundMessage {
  readonly key: string;
  readonly clientId: string;
  readonly lane: LaneKey;
  readonly replyTo: string | null;
  readonly text: string;
  readonly mode: InputMode;
  readonly files: readonly IncomingFile[];
}

export type AdmitResult =
  | { readonly status: "admitted"; readonly session: SessionId }
  /** It was taken before, here or in the session that the lane pointed at then. */
  | { readonly status: "taken"; readonly session: SessionId }
  | { readonly status: "unreadable"; readonly file: string; readonly why: string }
  /** It may be read at another time. */
  | { readonly status: "away"; readonly file: string; readonly why: string }
  | Exclude<Admission, { status: "accepted" }>;

/** P11: whatever else happens, a message becomes at most one turn. */
export async function admitChatMessage(
  deps: AdmitDeps,
  came: InboundMessage,
): Promise<AdmitResult> {
  const { log, ids, owner } = deps;
  const earlier = await log.store.reads.inbound(owner, came.key);
  if (earlier !== null) return { status: "taken", session: earlier.session };
  const attachments: Attachment[] = [];
  for (const file of came.files) {
    const kept = await storeFile(deps, file);
    if (kept.status === "failed") return kept;
    if (kept.status !== "kept") return { ...kept, file: safeFileName(file.name) };
    attachments.push(kept.attachment);
  }
  const { key, replyTo, clientId, lane, text, mode } = came;
  const said = {
    owner,
    clientId,
    text,
    mode,
    lane,
    inbound: { key, ...(replyTo !== null && { replyTo }) },
    ...(attachments.length > 0 && { attachments }),
  };
  const first = await admitWithNewSession(deps, said, key);
  if (first !== null) return first;
  const session = await sessionForLane(deps, lane, key);
  const admission = await admitMessage(log, ids, { ...said, session });
  if (admission.status === "accepted") return { status: "admitted", session };
  if (admission.status === "refused" && admission.code === "inbound_taken")
    return { status: "taken", session };
  return admission;
}

/**
 * The first message of a lane makes its session in the same transaction: one sync for both. All ids follow from the message, so two
 * who see it make the same commit. `null`: there is a session, or it was not taken like this, and goes the longer way.
 */
async function admitWithNewSession(
  { log, owner }: AdmitDeps,
  said: Omit<NewInput, "session"> & { readonly lane: LaneKey },
  key: string,
): Promise<AdmitResult | null> {
  const { lane } = said;
  if ((await sessionOfLane({ log, owner }, lane)) !== null) return null;
  const made = deterministicIds(`lane ${lane} ${key}`);
  const session = made.make("session");
  const begun = [
    newEvent(made.make("event"), "session.created", {}),
    newEvent(made.make("event"), "lane.bound", { lane }),
  ];
  const { events, refused } = await acceptInput(made, { ...said, session });
  if (refused !== undefined) return null;
  const result = await log.commit({ owner, session, events: [...begun, ...events] });
  if (result.status === "failed") return result;
  return result.status === "committed" ? { status: "admitted", session } : null;
}

async function storeFile(
  { adapter, log, owner }: AdmitDeps,
  file: IncomingFile,
): Promise<
  | { readonly status: "kept"; readonly attachment: Attachment }
  | { readonly status: "unreadable" | "away"; readonly why: string }
  | Failed
> {
  const fetched = await adapter.fetchFile(file, AbortSignal.timeout(60_000));
  if (fetched.status === "too_large")
    return unreadable(`it is larger than ${Math.floor(adapter.limits.fileBytes / 1024 / 1024)} MB`);
  if (fetched.status === "refused") return unreadable(fetched.message);
  if (fetched.status !== "fetched") return { status: "away", why: fetched.message };
  const { bytes } = fetched;
  const stored = await log.store.putBlob(owner, bytes, file.mediaType);
  // Like the words that came with it, it waits for the store as long as that takes.
  if (stored.status !== "stored") return stored;
  const { id: blobId, size } = stored;
  const { mediaType } = file;
  const name = safeFileName(file.name);
  const attachment: Attachment =
    file.kind === "image"
      ? { type: "image", blobId, mediaType, name }
      : { type: "file", blobId, name, mediaType, size };
  return { status: "kept", attachment };
}

function unreadable(why: string) {
  return { status: "unreadable", why } as const;
}
