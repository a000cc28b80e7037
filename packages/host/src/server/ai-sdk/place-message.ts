import { createHash } from "node:crypto";
import type { Client } from "@holdfast/client";
import { acceptInput, type SendResult } from "@holdfast/engine";
import {
  type Attachment,
  type LaneKey,
  laneKey,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  sessionId,
  withTimeout,
} from "@holdfast/protocol";
import { bindLane, sessionForLane, sessionOfLane } from "../../gateway/lanes.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { safeFileName } from "../../util/safe-file-name.ts";
import type { ApiDeps } from "../api/deps.ts";
import { problemFrom } from "../api/endpoint.ts";
import type { ProtocolProblem } from "../http/protocol.ts";
import { findRunStart } from "../run-output/read-run-output.ts";
import { invalid, problemOf } from "./problems.ts";
import {
  type ChatRequest,
  type ClientFile,
  filesOfMessage,
  textOfMessage,
  type UiMessage,
} from "./chat-request.ts";

export type PlaceDeps = Pick<ApiDeps, "log" | "engine" | "clock" | "ids" | "memory">;

export interface ChatCaller {
  readonly owner: OwnerId;
  /** The API with the caller's own credentials. */
  readonly client: Client;
}

export interface PlacedRun {
  readonly session: SessionId;
  readonly runId: RunId;
  /** A seq before the run's first output. */
  readonly begun: Seq;
}

export type Placed = PlacedRun | { readonly problem: ProtocolProblem };

const admissionTimeoutMs = 10_000;
const pageSize = 100;

/** A chat id names a lane, and the lane points at the chat's session: an edit moves it to a branch. */
export function laneOfChat(chatId: string): LaneKey {
  const isPlain = /^[\w.-]{1,200}$/.test(chatId);
  return laneKey.parse(`ai:${isPlain ? chatId : `sha256-${hashOf(chatId)}`}`);
}

/** The session that a chat continues: where its lane points, or the session that the chat id itself names. */
export async function sessionOfChat(
  { log }: Pick<ApiDeps, "log">,
  owner: OwnerId,
  chatId: string,
): Promise<SessionId | null> {
  const pointed = await sessionOfLane({ log, owner }, laneOfChat(chatId));
  if (pointed !== null) return pointed;
  const named = sessionId.safeParse(chatId);
  const row = named.success ? await log.store.reads.session(owner, named.data) : null;
  return row === null || row.trashedAt !== null ? null : row.id;
}

/**
 * P8: the history in a request is never believed. A message with a new id is appended, one with a known id is the same
 * message, and one that was changed under its id goes to a branch from before it.
 */
export async function placeMessage(
  deps: PlaceDeps,
  caller: ChatCaller,
  request: ChatRequest,
): Promise<Placed> {
  const { owner } = caller;
  const { newest, trigger } = request;
  if (newest.role !== "user")
    return invalid("messages", "expected a message of the user at the end");
  const lane = laneOfChat(request.id);
  const known = await sessionOfChat(deps, owner, request.id);
  if (trigger === "regenerate-message" && known !== null) {
    const again = await regenerate(deps, caller, known, newest);
    if (again !== null) return again;
  }
  const files = filesOfMessage(newest);
  if (files === null) return invalid("messages", "expected files as data URLs");
  const attachments = await storeFiles(deps, owner, files);
  if ("problem" in attachments) return attachments;
  const content = { lane, text: textOfMessage(newest), attachments: attachments.stored };
  // Before a session is made for a message that it cannot hold.
  const { refused } = await acceptInput(deps.ids, {
    owner,
    session: known ?? deps.ids.make("session"),
    clientId: clientIdOf(newest.id),
    ...content,
  });
  if (refused !== undefined) return { problem: problemFrom(refused) };
  const previous = await deps.log.store.reads.lane(owner, lane);
  // The owner is part of the key: two of them may use the same chat id.
  const session =
    known ?? (await sessionForLane({ log: deps.log, owner }, lane, `${owner} ${previous ?? ""}`));
  const inherited = await findInherited(deps, caller, session, newest);
  if (inherited !== null && inherited.text === content.text)
    return runOf(deps, owner, inherited.runId);
  if (inherited === null) {
    const sent = await send(deps, owner, session, newest.id, content);
    if (sent.status === "accepted") return placedIn(session, sent);
    const { code, details } = problemFrom(sent);
    if (code !== "idempotency_conflict") return { problem: { code, ...(details && { details }) } };
  }
  const branched = await branchBefore(deps, caller, { session, lane, newest });
  if (typeof branched !== "string") return branched;
  const edited = await send(deps, owner, branched, newest.id, content);
  return edited.status === "accepted"
    ? placedIn(branched, edited)
    : { problem: problemFrom(edited) };
}

/** The store knows the ids of a session's own messages; those that a branch has from its origin are looked up. */
async function findInherited(
  deps: PlaceDeps,
  caller: ChatCaller,
  session: SessionId,
  { id }: UiMessage,
): Promise<FoundMessage | null> {
  const row = await deps.log.store.reads.session(caller.owner, session);
  return row?.origin == null ? null : findMessage(deps, caller, session, id);
}

async function runOf(
  { log }: PlaceDeps,
  owner: OwnerId,
  runId: RunId | undefined,
): Promise<Placed> {
  const { reads } = log.store;
  const run = runId === undefined ? null : await reads.run(owner, runId);
  const begun = run && (await findRunStart(reads, { owner, session: run.session, runId: run.id }));
  if (run === null || begun === null) return { problem: { code: "run_not_found" } };
  return { session: run.session, runId: run.id, begun };
}

interface Content {
  readonly lane: LaneKey;
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

async function send(
  { engine, ids, clock }: PlaceDeps,
  owner: OwnerId,
  session: SessionId,
  messageId: string,
  content: Content,
): Promise<SendResult> {
  const sent = await withTimeout({ clock, ms: admissionTimeoutMs }, () =>
    engine.send({ ids, owner, session, clientId: clientIdOf(messageId), ...content }),
  );
  if (sent.status === "done") return sent.value;
  return { status: "failed", code: "store_unknown", message: "The store did not answer in time." };
}

function placedIn(session: SessionId, { runId, seq }: Extract<SendResult, { status: "accepted" }>) {
  return { session, runId, begun: seq };
}

/** Asks again from the message; `null` if it is not in the session, so that it is sent. */
async function regenerate(
  deps: PlaceDeps,
  caller: ChatCaller,
  session: SessionId,
  message: UiMessage,
): Promise<Placed | null> {
  const found = await findMessage(deps, caller, session, message.id);
  if (found === null) return null;
  const row = await deps.log.store.reads.session(caller.owner, session);
  // Two of the same request at once are one.
  const key = `ai:${hashOf(JSON.stringify([session, found.seq, row?.head ?? 0]))}`;
  const result = await caller.client.retry({
    params: { id: session },
    headers: { "idempotency-key": key },
    body: { from: found.seq, interrupt: true },
  });
  if (!result.ok) return problemOf(result.error);
  const { runId, seq } = result.value;
  return { session, runId, begun: seq };
}

/** The session in which the chat goes on with the changed message. The one it leaves is unchanged. */
async function branchBefore(
  deps: PlaceDeps,
  caller: ChatCaller,
  { session, lane, newest }: { session: SessionId; lane: LaneKey; newest: UiMessage },
): Promise<SessionId | Exclude<Placed, PlacedRun>> {
  const { log, memory } = deps;
  const { owner, client } = caller;
  const found = await findMessage(deps, caller, session, newest.id);
  if (found === null)
    return invalid("messages", "this message is still waiting: stop it before you change it");
  const key = hashOf(JSON.stringify([owner, session, newest.id, textOfMessage(newest)]));
  if (found.before === null) {
    const created = await log.createSession({
      owner,
      lane,
      ids: deterministicIds(`ai edit ${key}`),
    });
    return created.result.status === "committed"
      ? created.session
      : { problem: problemFrom(created.result) };
  }
  const branched = await client.branch({
    params: { id: session },
    headers: { "idempotency-key": `ai:${key}` },
    body: { at: found.before },
  });
  if (!branched.ok) return problemOf(branched.error);
  const { id } = branched.value.session;
  await bindLane({ log, owner, memory }, lane, id, `ai ${key}`);
  return id;
}

interface FoundMessage {
  readonly seq: Seq;
  readonly text: string;
  readonly runId: RunId | undefined;
  /** The entry above it. */
  readonly before: Seq | null;
}

/** A message by the client's id, or by ours if another front end sent it; the version of it that is in view. */
async function findMessage(
  { log }: PlaceDeps,
  caller: ChatCaller,
  id: SessionId,
  messageId: string,
): Promise<FoundMessage | null> {
  const shown = await findInView(caller, id, messageId);
  if (shown !== null) return shown;
  const { reads } = log.store;
  const row = await reads.session(caller.owner, id);
  for (const set of row?.alternatives ?? []) {
    const seqs = set.flatMap(({ seq }) => seq ?? []);
    const pages = await Promise.all(
      seqs.map((seq) => reads.events(caller.owner, id, { after: (seq - 1) as Seq, limit: 1 })),
    );
    const isOfSet = pages.some(
      (page) => page?.events[0]?.data["clientId"] === clientIdOf(messageId),
    );
    if (!isOfSet && !set.some((version) => version.messageId === messageId)) continue;
    for (const version of set) {
      const found = await findInView(caller, id, version.messageId);
      if (found !== null) return found;
    }
  }
  return null;
}

async function findInView(
  { client }: ChatCaller,
  id: SessionId,
  messageId: string,
): Promise<FoundMessage | null> {
  const clientId = clientIdOf(messageId);
  let found: Omit<FoundMessage, "before"> | null = null;
  let before: Seq | undefined;
  for (;;) {
    const query = { limit: pageSize, ...(before !== undefined && { before }) };
    const page = await client.readSession({ params: { id }, query });
    if (!page.ok) return null;
    for (const entry of page.value.entries.toReversed()) {
      if (found !== null) return { ...found, before: entry.seq };
      if (entry.type !== "message" || entry.role !== "user") continue;
      if (entry.clientId !== clientId && entry.messageId !== messageId) continue;
      const text = entry.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      found = { seq: entry.seq, text, runId: entry.runId };
    }
    const { earlier } = page.value;
    if (earlier === null) return found && { ...found, before: null };
    before = earlier;
  }
}

async function storeFiles(
  { log }: PlaceDeps,
  owner: OwnerId,
  files: readonly ClientFile[],
): Promise<{ readonly stored: readonly Attachment[] } | Exclude<Placed, PlacedRun>> {
  const stored: Attachment[] = [];
  for (const { bytes, mediaType, name } of files) {
    const put = await log.store.putBlob(owner, bytes, mediaType);
    if (put.status !== "stored") return { problem: problemFrom(put) };
    const { id: blobId, size } = put;
    const file = safeFileName(name ?? "file");
    stored.push(
      mediaType.startsWith("image/")
        ? { type: "image", blobId, mediaType, name: file }
        : { type: "file", blobId, mediaType, size, name: file },
    );
  }
  return { stored };
}

function clientIdOf(messageId: string): string {
  return `ai:${/^[\x21-\x7e]{1,100}$/.test(messageId) ? messageId : `sha256-${hashOf(messageId)}`}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
