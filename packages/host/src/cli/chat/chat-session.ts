import { randomUUID } from "node:crypto";
import {
  type ApprovalId,
  type Attachment,
  defaultMode,
  type InputMode,
  laneKey,
  type SessionId,
  sessionMode,
} from "@holdfast/protocol";
import {
  type Client,
  type CommandAnswer,
  type ConnectionState,
  describeMode,
  describePersonas,
  executeCommand,
  asksForSkill,
  findPasted,
  findUnseen,
  type Invocation,
  isCostly,
  isLongPaste,
  isWorthMarking,
  listUsableSkills,
  liveRun,
  waitsForPerson,
  matchPersona,
  type CommandRefusal,
  refusalFrom,
  refusePersona,
  type Result,
  type SessionState,
} from "@holdfast/client";
import { createHostWait, watchForStall } from "../connection/wait-for-host.ts";
import { newSessionBody, type NewSessionSettings } from "../new-session.ts";
import { chatStrings } from "../strings/chat.ts";
import type { ApprovalReply } from "./approval.ts";
import { findMentioned, type FoundFiles, type LocalFile, quoteFile } from "./local-files.ts";

export interface ChatListener {
  /** `isFirst`: the session has just been opened. */
  onState(state: SessionState, isFirst: boolean): void;
  onConnection(state: ConnectionState): void;
  onStatus(text: string): void;
  /** Something to know about the message that is being sent. */
  onNote(sentence: string): void;
  /** The host will not show this session any more. */
  onEnded(refusal: CommandRefusal): void;
}

/** A person at the keyboard decides themselves when to stop waiting. */
const hostWaitMs = 24 * 3_600_000;

/** A choice for the session that the next message begins. */
export interface ChosenForNext {
  readonly kind: "chosen_for_next";
  readonly sentence: string;
}

type AttachedFile = Extract<LocalFile, { kind: "attach" }>;

const texts = chatStrings.command;
const noFiles: FoundFiles = { ok: true, files: [] };

/** Follows one session at a time through lost connections. A message is accepted once, however often it is sent. */
export class ChatSession {
  readonly #client: Client;
  readonly #listener: ChatListener;
  #following: AbortController | undefined;
  #sessionId: SessionId | null = null;
  #isClosed = false;
  #newSession: NewSessionSettings;
  #pastes: string[] = [];
  #quotes: string[] = [];
  /** Its price was named: sent again, it goes. */
  #priced: string | null = null;
  readonly #pictures = new Map<string, AttachedFile>();
  /** Long pastes by the labels that stand for them, also for messages that are recalled later. */
  readonly #folded = new Map<string, string>();

  constructor(client: Client, listener: ChatListener, newSession: NewSessionSettings) {
    this.#client = client;
    this.#listener = listener;
    this.#newSession = newSession;
  }

  get sessionId(): SessionId | null {
    return this.#sessionId;
  }

  /** What the session gets that the next message begins. */
  get newSession(): NewSessionSettings {
    return this.#newSession;
  }

  switchTo(id: SessionId): void {
    this.leave();
    this.#sessionId = id;
    if (this.#isClosed) return;
    const following = new AbortController();
    this.#following = following;
    void this.#follow(id, following.signal);
  }

  leave(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#sessionId = null;
  }

  /** Follows nothing from now on, not even a session that is being created; what was said is still sent. */
  close(): void {
    this.#isClosed = true;
    this.leave();
  }

  /** Remembers what was pasted until the next message is sent. */
  addPaste(text: string): void {
    if (isWorthMarking(text)) this.#pastes.push(text);
  }

  /** A label to show in place of a long paste; the message that contains it is sent with the text. */
  foldPaste(text: string): string | undefined {
    if (!isLongPaste(text)) return undefined;
    const label = chatStrings.pasted(this.#folded.size + 1, text.trimEnd().split("\n").length);
    this.#folded.set(label, text);
    return label;
  }

  #unfold(typed: string): string {
    return typed.replaceAll(/\[[^[\]]+\]/g, (label) => this.#folded.get(label) ?? label);
  }

  /** Adds text to the next message that is not the person's own, such as a command's output. */
  addQuote(text: string): void {
    this.#quotes.push(text);
  }

  /** Attaches the picture to the next message, if that still contains the label that is returned. */
  addPicture(picture: AttachedFile): string {
    const isTaken = (label: string): boolean => this.#pictures.has(label);
    let label = `[${picture.name}]`;
    for (let copy = 2; isTaken(label); copy += 1) label = `[${picture.name} ${copy}]`;
    this.#pictures.set(label, picture);
    return label;
  }

  /** The first message creates its session. Files that it names are looked up in `folder`, if there is one. */
  async send(
    typed: string,
    { mode = "queue", folder }: { readonly mode?: InputMode; readonly folder: string | null },
  ): Promise<CommandRefusal | undefined> {
    const key = randomUUID();
    const found = folder === null ? noFiles : await findMentioned(typed, folder);
    if (!found.ok) return { kind: "refused", code: "file_refused", sentence: found.sentence };
    const pictures = [...this.#pictures].flatMap(([label, file]) =>
      typed.includes(label) ? [file] : [],
    );
    const attachments: Attachment[] = [];
    for (const file of [...found.files, ...pictures]) {
      if (file.kind !== "attach") continue;
      const uploaded = await this.#upload(file);
      if (!uploaded.ok) return refusalFrom(uploaded.error);
      attachments.push(uploaded.value);
    }
    // Only on a terminal is somebody there who can decide.
    const price =
      folder === null || typed === this.#priced ? null : await this.#priceOf(attachments);
    if (price !== null) {
      this.#priced = typed;
      return { kind: "refused", code: "costly_attachments", sentence: price };
    }
    const quotes = [...this.#quotes, ...found.files.flatMap(quoteFile)];
    const text = [this.#unfold(typed), ...quotes].join("\n\n");
    const id = this.#sessionId ?? (await this.#createSession(key));
    if (typeof id !== "string") return id;
    const quoted = findPasted(text, [...this.#pastes, ...quotes]);
    const lane = laneKey.parse(`cli:${id}`);
    const body = {
      clientId: key,
      text,
      mode,
      lane,
      ...(quoted.length > 0 && { quoted }),
      ...(attachments.length > 0 && { attachments }),
    };
    for (const sentence of await this.#unseenIn(attachments, id)) this.#listener.onNote(sentence);
    const sent = await this.#retry(() => this.#client.sendMessage({ params: { id }, body }));
    if (!sent.ok) return refusalFrom(sent.error);
    this.#pastes = [];
    this.#quotes = [];
    this.#priced = null;
    this.#pictures.clear();
    return undefined;
  }

  /** What large attachments take, in a sentence. */
  async #priceOf(attachments: Attachment[]): Promise<string | null> {
    if (attachments.length === 0) return null;
    const id = this.#sessionId;
    const read = id && (await this.#client.readSession({ params: { id }, query: { limit: 1 } }));
    const chosen = read === null ? this.#newSession.model : read.ok && read.value.session.model;
    const body = { attachments, ...(chosen && { model: chosen }) };
    const estimated = await this.#client.estimateAttachments({ body });
    if (!estimated.ok || !isCostly(estimated.value)) return null;
    return chatStrings.attachmentCost(estimated.value);
  }

  /** What the session's model will not see of the attachments, in sentences. */
  async #unseenIn(attachments: readonly Attachment[], id: SessionId): Promise<readonly string[]> {
    if (attachments.length === 0) return [];
    const [listed, read] = await Promise.all([
      this.#client.listModels(),
      this.#client.readSession({ params: { id }, query: { limit: 1 } }),
    ]);
    if (!listed.ok || !read.ok) return [];
    const { models, usual } = listed.value;
    const name = read.value.session.model ?? usual;
    const model = models.find((each) => each.name === name);
    return findUnseen(attachments, model).map((kind) => chatStrings.unseen[kind](name));
  }

  async #upload({ name, mediaType, bytes }: AttachedFile): Promise<Result<Attachment>> {
    const request = { body: bytes, mediaType };
    const kept = await this.#retry(() => this.#client.putBlob(request));
    if (!kept.ok) return kept;
    const { blobId, size } = kept.value;
    const value: Attachment = mediaType.startsWith("image/")
      ? { type: "image", blobId, mediaType, name }
      : { type: "file", blobId, mediaType, name, size };
    return { ok: true, value };
  }

  /** The newest event's number: whoever has seen it has seen everything before it. */
  async head(): Promise<number> {
    const id = this.#sessionId;
    if (id === null) return 0;
    const query = { limit: 1 };
    const read = await this.#retry(() => this.#client.readSession({ params: { id }, query }));
    return read.ok ? read.value.seq : 0;
  }

  async execute(invocation: Invocation): Promise<CommandAnswer | ChosenForNext> {
    if (this.#sessionId === null) {
      const chosen = await this.#executeForNext(invocation);
      if (chosen !== undefined) return chosen;
    }
    const { workspace } = this.#newSession;
    const answer = await executeCommand(
      {
        client: this.#client,
        sessionId: this.#sessionId,
        key: randomUUID(),
        now: Date.now,
        ...(workspace !== undefined && { workspace }),
      },
      invocation,
    );
    if (answer.kind === "moved") this.switchTo(answer.session.id);
    return answer;
  }

  /** Whether `/name` activates a skill. */
  hasSkill(name: string): Promise<boolean> {
    return asksForSkill({ client: this.#client, sessionId: this.#sessionId }, name);
  }

  /** Those that `/name` activates. */
  skills(): ReturnType<typeof listUsableSkills> {
    return listUsableSkills({ client: this.#client, sessionId: this.#sessionId });
  }

  async #choosePersona(argument: string): Promise<CommandAnswer | ChosenForNext> {
    const listed = await this.#retry(() => this.#client.listPersonas());
    if (!listed.ok) return refusalFrom(listed.error);
    const { personas } = listed.value;
    const { persona: current } = this.#newSession;
    if (argument === "")
      return describePersonas(personas, {
        id: null,
        ...(current !== undefined && { persona: current }),
      });
    const persona = matchPersona(personas, argument);
    if (persona === undefined) return refusePersona(argument);
    this.#newSession = { ...this.#newSession, persona: persona.id };
    return { kind: "chosen_for_next", sentence: texts.nextPersona(persona.name) };
  }

  /** Before the first message, a model, a mode and a persona are chosen for the session that it begins. */
  async #executeForNext({
    name,
    argument,
  }: Invocation): Promise<CommandAnswer | ChosenForNext | undefined> {
    if (name === "persona") return this.#choosePersona(argument);
    if (name !== "model" && name !== "mode") return undefined;
    const listed = await this.#retry(() => this.#client.listModels());
    if (!listed.ok) return refusalFrom(listed.error);
    const { usual, usualMode = defaultMode, models } = listed.value;
    const { model, mode } = this.#newSession;
    if (name === "mode") {
      const chosen = sessionMode.safeParse(argument);
      if (!chosen.success) return { kind: "mode", mode: mode ?? usualMode };
      this.#newSession = { ...this.#newSession, mode: chosen.data };
      return { kind: "chosen_for_next", sentence: texts.nextMode(describeMode(chosen.data)) };
    }
    const usable = models.filter((item) => item.usable).map((item) => item.name);
    if (argument === "")
      return { kind: "model", model: model ?? null, usual, models: usable, listed: models };
    const isKnown = usable.some((known) => known === argument || sameProvider(known, argument));
    if (!isKnown)
      return { kind: "refused", code: "unknown_model", sentence: texts.unknownModel(argument) };
    this.#newSession = { ...this.#newSession, model: argument };
    return { kind: "chosen_for_next", sentence: texts.nextModel(argument) };
  }

  async answer(id: ApprovalId, reply: ApprovalReply): Promise<CommandRefusal | undefined> {
    const headers = { "idempotency-key": randomUUID() };
    const result = await this.#retry(() =>
      this.#client.answerApproval({ params: { id }, headers, body: { ...reply } }),
    );
    return result.ok ? undefined : refusalFrom(result.error);
  }

  async #createSession(key: string): Promise<SessionId | CommandRefusal> {
    const headers = { "idempotency-key": key };
    const body = newSessionBody(this.#newSession);
    const created = await this.#retry(() => this.#client.createSession({ headers, body }));
    if (!created.ok) return refusalFrom(created.error);
    this.switchTo(created.value.session.id);
    return created.value.session.id;
  }

  async #retry<T>(request: () => Promise<Result<T>>): Promise<Result<T>> {
    const hostWait = createHostWait(hostWaitMs);
    try {
      return await hostWait.retryUntilAnswered(request);
    } finally {
      hostWait.stop();
    }
  }

  async #follow(id: SessionId, signal: AbortSignal): Promise<void> {
    const onConnection = (state: ConnectionState): void => this.#listener.onConnection(state);
    let state: SessionState | undefined;
    const stallWatch = watchForStall({
      client: this.#client,
      isWaiting: () => state !== undefined && isBusy(state),
      onReasons: (reasons) => this.#listener.onStatus(reasons),
    });
    signal.addEventListener("abort", () => stallWatch.stop(), { once: true });
    for await (const item of this.#client.open(id, { signal, onConnection })) {
      if (signal.aborted) return;
      stallWatch.reset();
      if (item.kind === "state") {
        this.#listener.onState(item.state, state === undefined);
        state = item.state;
      } else if (item.kind === "status") this.#listener.onStatus(item.status.text ?? "");
      else this.#listener.onEnded(refusalFrom(item.error));
    }
    stallWatch.stop();
  }
}

/** Whether the host is working, rather than waiting for a person. */
function isBusy(state: SessionState): boolean {
  const run = liveRun(state);
  if (run === null) return state.inbox.length > 0;
  return !waitsForPerson(state) && run.state !== "paused";
}

/** A provider may serve models that no list names. */
function sameProvider(known: string, name: string): boolean {
  const [provider, model] = known.split("/");
  return model !== undefined && name.startsWith(`${provider}/`);
}
