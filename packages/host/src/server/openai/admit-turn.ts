import { acceptInput, type Admission, branch, type Engine, type Log } from "@holdfast/engine";
import {
  type Attachment,
  type IdSource,
  newEvent,
  type OwnerId,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";
import type { Clock } from "@holdfast/engine";
import { problemCodes } from "../api/problem-codes.ts";
import type { ProtocolProblem } from "../http/protocol.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { safeFileName } from "../../util/safe-file-name.ts";
import type { ClientFile } from "./client-request.ts";
import { isRefusal, type Refusal } from "./errors.ts";
import type { RunAddress } from "./identifiers.ts";
import {
  hintKeyOfName,
  hintKeyOfSession,
  hintKeyOfTurn,
  keyConflict,
  makeClientId,
  type PlaceDeps,
  type Placement,
  placeTurn,
  sessionOfKey,
  type TurnRequest,
} from "./place-turn.ts";

export interface AdmitDeps extends PlaceDeps {
  readonly log: Log;
  readonly engine: Pick<Engine, "notify">;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export interface AdmittedTurn extends RunAddress {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly createdAt: number;
  readonly isRepeated: boolean;
}

export type AdmitResult = AdmittedTurn | Refusal | { readonly problem: ProtocolProblem };

const admissionTimeoutMs = 10_000;

/** P1: answers once the message is durable. A request that was admitted before gets the run it has. */
export async function admitTurn(
  deps: AdmitDeps,
  request: TurnRequest,
  model: string | null,
): Promise<AdmitResult> {
  const { owner } = request;
  const placement = await placeTurn(deps, request);
  if (isRefusal(placement)) return placement;
  if (placement.kind === "repeated") {
    const { session, runId, begun } = placement;
    return { owner, session, runId, begun, createdAt: Date.now(), isRepeated: true };
  }
  const files = await storeFiles(deps, owner, request.files);
  if (!Array.isArray(files)) return files;
  const admitting = admitPlaced(deps, request, { placement, files, model });
  const admitted = await withTimeout(
    { clock: deps.clock, ms: admissionTimeoutMs },
    () => admitting,
  );
  return admitted.status === "done" ? admitted.value : { problem: { code: "store_unknown" } };
}

async function storeFiles(
  { log }: AdmitDeps,
  owner: OwnerId,
  files: readonly ClientFile[],
): Promise<Attachment[] | Exclude<AdmitResult, AdmittedTurn>> {
  const stored: Attachment[] = [];
  for (const { bytes, mediaType, name } of files) {
    const put = await log.store.putBlob(owner, bytes, mediaType);
    if (put.status !== "stored") return problemOf(put);
    const { id: blobId, size } = put;
    stored.push(
      name === undefined
        ? { type: "image", blobId, mediaType }
        : { type: "file", blobId, mediaType, size, name: safeFileName(name) },
    );
  }
  return stored;
}

interface Placed {
  readonly placement: Exclude<Placement, { kind: "repeated" }>;
  readonly files: readonly Attachment[];
  readonly model: string | null;
}

async function admitPlaced(
  deps: AdmitDeps,
  request: TurnRequest,
  { placement, files, model }: Placed,
): Promise<AdmitResult> {
  const { log, hints, engine } = deps;
  const { owner, repetition, text, target } = request;
  const { key } = repetition;
  // Under a key, ids are derived from it: two hosts that get the request at once admit one message.
  const ids =
    key === undefined
      ? deps.ids
      : deterministicIds(JSON.stringify(["openai", owner, key, repetition.bodyHash]));
  const ownSession = key === undefined ? ids.make("session") : sessionOfKey(owner, key);
  const session = placement.kind === "append" ? placement.session : ownSession;
  const clientId = makeClientId(repetition, ids);
  const { attached } = placement;
  const input = await acceptInput(ids, {
    owner,
    session,
    clientId,
    text,
    attachments: files,
    attached,
  });
  if (input.refused !== undefined) return problemOf(input.refused);
  if (placement.kind === "branch") {
    const { session: origin, at } = placement;
    const branched = await branch({ log, ids }, { owner, session: origin }, { at, session });
    if (branched.status !== "branched") return problemOf(branched);
  }
  const created = newEvent(ids.make("event"), "session.created", {
    ...(model !== null && { model }),
  });
  const isOtherModel = model !== null && (await hasOtherModel(deps, owner, session, model));
  const changed = newEvent(ids.make("event"), "session.changed", { model });
  const events = [
    ...(placement.kind === "new" ? [created] : isOtherModel ? [changed] : []),
    ...input.events,
  ];
  const noted = hintKeysOf(target, placement, text);
  const [result] = await Promise.all([
    log.commit({ owner, session, events }).then((committed): Admission => input.answer(committed)),
    ...noted.map((hint) => hints.add(owner, hint, session)),
  ]);
  const isTaken = result.status === "refused" && result.code === "session_exists";
  if (isTaken && key !== undefined) return keyConflict;
  if (result.status !== "accepted") return problemOf(result);
  engine.notify(owner, session);
  const { runId, seq: begun, repeated: isRepeated } = result;
  return { owner, session, runId, begun, createdAt: Date.now(), isRepeated };
}

/** What the client may call this session by later. */
function hintKeysOf(
  target: TurnRequest["target"],
  { kind }: Placed["placement"],
  text: string,
): readonly string[] {
  switch (target.kind) {
    case "name":
      return [hintKeyOfName(target.name)];
    case "history":
      return [hintKeyOfTurn(text)];
    case "session":
    case "after": {
      const name = target.name === undefined ? [] : [hintKeyOfName(target.name)];
      if (target.kind === "after") return [...name, hintKeyOfTurn(text)];
      return kind === "append" ? name : [...name, hintKeyOfSession(target.session)];
    }
  }
}

async function hasOtherModel(
  { reads }: AdmitDeps,
  owner: OwnerId,
  session: SessionId,
  model: string,
): Promise<boolean> {
  const row = await reads.session(owner, session);
  return row !== null && row.model !== model;
}

type Refused =
  | Exclude<Admission, { status: "accepted" }>
  | Extract<Awaited<ReturnType<typeof branch>>, { status: "refused" | "failed" }>;

function problemOf(result: Refused): Exclude<AdmitResult, AdmittedTurn> {
  if (result.code === "idempotency_conflict") return keyConflict;
  const code = problemCodes[result.code];
  const bug = code === "internal" ? { bug: `${result.code}: ${result.message}` } : {};
  const details =
    result.status === "refused" && code !== "internal"
      ? { details: { detail: result.message } }
      : {};
  return { problem: { code, ...details, ...bug } };
}
