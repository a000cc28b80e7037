import { createHash, randomUUID } from "node:crypto";
import {
  agent,
  type AgentApp,
  type AgentContext,
  type ClientCapabilities,
  type InitializeRequest,
  type JsonRpcId,
  type McpServer,
  methods,
  type PromptRequest,
  PROTOCOL_VERSION,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { asksForSkill, type Client } from "@holdfast/client";
import { type SessionId, sessionId, type SessionView } from "@holdfast/protocol";
import type { Outcome } from "../../util/outcome.ts";
import { version } from "../../util/version.ts";
import type { ServerConnection } from "../connection/connect.ts";
import { acpStrings } from "../strings/acp.ts";
import { readOptions, setOption } from "./config-options.ts";
import { EditorSession } from "./editor-session.ts";
import {
  editorName,
  type EditorRights,
  reachFilter,
  readEditorRights,
  withinRights,
} from "./editor-rights.ts";
import { failedRequest, requestErrorFrom, unknownSession } from "./errors.ts";
import { askForFolder, folderNotAllowed } from "./folder-permission.ts";
import { chooseOther, folderFrom, folderPage, infoOf, pathOf } from "./folders.ts";
import { readPrompt } from "./prompt-input.ts";
import { availableCommands, classifyPrompt, runSlashCommand } from "./slash-commands.ts";

export interface AgentDeps {
  /** Tried again with the next request if it fails. */
  readonly connect: () => Promise<Outcome<ServerConnection>>;
  /** What the owner calls this editor; by default what it calls itself. */
  readonly name?: string | undefined;
}

const listPage = 100;

/** The agent's side of one connection. Nothing that matters is kept here: the host has it. */
export function createEditorAgent(deps: AgentDeps): AgentApp {
  const bridge = new Bridge(deps);
  const { session } = methods.agent;
  return agent({ name: "holdfast" })
    .onConnect(({ client }) => bridge.connected(client))
    .onRequest(methods.agent.initialize, ({ params }) => bridge.initialize(params))
    .onRequest(session.new, ({ params }) => bridge.create(params.cwd, params.mcpServers))
    .onRequest(session.load, ({ params }) => bridge.open(params, "replay"))
    .onRequest(session.resume, ({ params }) => bridge.open(params, "skip"))
    .onRequest(session.list, ({ params }) => bridge.list(params.cwd, params.cursor))
    .onRequest(session.close, ({ params }) => bridge.close(params.sessionId))
    .onRequest(session.delete, ({ params }) => bridge.delete(params.sessionId))
    .onRequest(session.setConfigOption, ({ params }) =>
      bridge.setOption(params.sessionId, params.configId, params.value),
    )
    .onRequest(session.setMode, async ({ params }) => {
      await bridge.setOption(params.sessionId, "mode", params.modeId);
      return {};
    })
    .onRequest(session.prompt, async ({ params, requestId, signal }) => ({
      stopReason: await bridge.prompt(params, requestId, signal),
    }))
    .onNotification(session.cancel, ({ params }) => bridge.cancel(params.sessionId));
}

interface Opened {
  readonly connection: ServerConnection;
  readonly client: Client;
  readonly rights: EditorRights;
}

class Bridge {
  readonly #deps: AgentDeps;
  /** Part of the client ids: the same JSON-RPC id on another connection is another message. */
  readonly #connectionId = randomUUID();
  readonly #sessions = new Map<SessionId, EditorSession>();
  /** Folders that the person is asked about with the first prompt. */
  readonly #wantedFolders = new Map<SessionId, string>();
  /** Sessions that do not work in the editor's folder, which is said with the first prompt. */
  readonly #elsewhere = new Set<SessionId>();
  #editor: AgentContext | undefined;
  #capabilities: ClientCapabilities = {};
  #calledItself: string | undefined;
  #opening: Promise<Opened> | undefined;

  constructor(deps: AgentDeps) {
    this.#deps = deps;
  }

  connected(editor: AgentContext): void {
    this.#editor = editor;
  }

  initialize({ clientCapabilities = {}, clientInfo }: InitializeRequest) {
    this.#capabilities = clientCapabilities;
    this.#calledItself = clientInfo?.name;
    // Finding or starting a host takes a moment, and the editor is about to need it.
    this.#host().catch(() => undefined);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "holdfast", title: "Holdfast", version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
      authMethods: [],
    };
  }

  async create(cwd: string, mcpServers: readonly McpServer[]) {
    const { client, rights, connection } = await this.#ready();
    const folder = folderFrom(cwd);
    const settings = { lane: rights.lane, tags: [rights.tag] };
    let created = await client.createSession({ body: { ...settings, workspace: folder } });
    if (!created.ok && created.error.code === "invalid_request") {
      const instead = await chooseOther(connection, folder);
      if (instead === "ask" && !rights.approvals) throw folderNotAllowed(folder);
      const workspace = instead === "ask" ? {} : { workspace: instead.name };
      created = await client.createSession({ body: { ...settings, ...workspace } });
      if (created.ok && instead === "ask")
        this.#wantedFolders.set(created.value.session.id, folder);
      else if (created.ok) this.#elsewhere.add(created.value.session.id);
    }
    if (!created.ok) throw requestErrorFrom(created.error);
    const { id } = created.value.session;
    const session = await this.#follow(id, folder, "skip");
    const options = await readOptions(client, created.value.session);
    session.optionsShown(options);
    this.#announce(session, mcpServers);
    return { sessionId: id, ...options };
  }

  async open(
    given: { sessionId: string; cwd: string; mcpServers?: readonly McpServer[] },
    past: "replay" | "skip",
  ) {
    const { client } = await this.#ready();
    const folder = folderFrom(given.cwd);
    const view = await this.#find(given.sessionId);
    const session = await this.#follow(view.id, pathOf(view) ?? folder, past);
    const options = await readOptions(client, session.view);
    session.optionsShown(options);
    this.#announce(session, given.mcpServers ?? []);
    return { ...options };
  }

  async list(cwd: string | null | undefined, cursor: string | null | undefined) {
    const { client, rights, connection } = await this.#ready();
    const folder = cwd == null ? undefined : folderFrom(cwd);
    const hasShared = rights.isKey || !connection.isLocal;
    const page = folder === undefined ? undefined : folderPage(folder, cursor ?? null, hasShared);
    const position = page?.query ?? (cursor == null ? {} : { cursor });
    const tag = rights.sessions === "own" ? { tag: rights.tag } : {};
    const listed = await client.listSessions({ query: { limit: listPage, ...position, ...tag } });
    if (!listed.ok) throw requestErrorFrom(listed.error);
    const { sessions, nextCursor } = listed.value;
    const rows = sessions.map((view) => infoOf(view, connection, folder));
    const next = page === undefined ? nextCursor : page.next(nextCursor);
    return { sessions: rows, ...(next !== null && { nextCursor: next }) };
  }

  async close(id: string) {
    const session = this.#sessions.get(parseId(id));
    if (session === undefined) throw unknownSession(id);
    // The runs of others in this session go on.
    await session.cancel("own");
    session.close();
    this.#sessions.delete(session.id);
    return {};
  }

  async delete(id: string) {
    const view = await this.#find(id);
    const { client } = await this.#host();
    const trashed = await client.trashSession({ params: { id: view.id } });
    if (!trashed.ok) throw requestErrorFrom(trashed.error);
    this.#sessions.get(view.id)?.close();
    this.#sessions.delete(view.id);
    return {};
  }

  async setOption(id: string, configId: string, value: unknown) {
    const session = await this.#open(id);
    const { client } = await this.#host();
    const options = await readOptions(
      client,
      await setOption(client, session.view, configId, value),
    );
    session.optionsShown(options);
    return { configOptions: options.configOptions };
  }

  async prompt(
    { sessionId: id, prompt }: PromptRequest,
    requestId: JsonRpcId,
    signal: AbortSignal,
  ): Promise<StopReason> {
    const { client, rights } = await this.#ready();
    const session = await this.#open(id);
    const [first] = prompt;
    const isText = prompt.length === 1 && first?.type === "text";
    const kind = isText ? classifyPrompt(first.text) : { kind: "message" as const };
    const asked = { client, sessionId: session.id };
    const isSkill =
      kind.kind === "refused" && kind.name !== undefined && (await asksForSkill(asked, kind.name));
    if (kind.kind === "refused" && !isSkill) {
      session.say(kind.sentence);
      return "end_turn";
    }
    if (kind.kind === "command") {
      const deps = { client, sessionId: session.id, lane: rights.lane };
      const done = await runSlashCommand(
        { ...deps, ...reachFilter(client, rights) },
        kind.invocation,
      );
      if (done.text !== "") session.say(done.text);
      return done.runId === null ? "end_turn" : session.waitFor(done.runId, signal);
    }
    await this.#settleFolder(session);
    if (this.#elsewhere.delete(session.id))
      session.say(
        `[This host works in a folder of its own for this session, not in ${session.folder} on your machine.]\n\n`,
      );
    const input = await readPrompt(prompt, session.folder, client.putBlob);
    return session.prompt(input, this.#clientIdOf(requestId), signal);
  }

  async cancel(id: string): Promise<void> {
    await this.#sessions.get(parseId(id))?.cancel("all");
  }

  /** The same, with a host that serves: a person wants something of it. */
  async #ready(): Promise<Opened> {
    const opened = await this.#host();
    const ready = await opened.connection.ensureHost();
    if (!ready.ok) throw failedRequest(ready.failure.message);
    return opened;
  }

  /** The connection to the host, with what this editor may do there. */
  #host(): Promise<Opened> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    const connection = await this.#deps.connect();
    if (!connection.ok) throw failedRequest(connection.failure.message);
    const { client } = connection.value;
    const name = editorName(this.#deps.name ?? this.#calledItself);
    const rights = await readEditorRights(client, name);
    return { connection: connection.value, client: withinRights(client, rights), rights };
  }

  async #follow(id: SessionId, folder: string, past: "replay" | "skip"): Promise<EditorSession> {
    const { client, rights, connection } = await this.#host();
    const { session: shown = null, elicitation } = this.#capabilities;
    const session = new EditorSession(
      id,
      folder,
      {
        client,
        editor: this.#connectedEditor(),
        abilities: {
          notices: shown?.notices != null,
          compaction: shown?.compaction != null,
          forms: elicitation?.form != null,
        },
        lane: rights.lane,
        mayApprove: rights.approvals,
        blobUrl: (blobId) => `${connection.address ?? "/"}api/blobs/${blobId}`,
        isOwn: (clientId) => clientId.startsWith(this.#clientIdPrefix),
      },
      this.#sessions.get(id),
    );
    await session.open(past);
    this.#sessions.set(id, session);
    return session;
  }

  /** An editor that restarts may go on in a session that it knows without loading it. */
  async #open(id: string): Promise<EditorSession> {
    const known = this.#sessions.get(parseId(id));
    if (known !== undefined) return known;
    const view = await this.#find(id);
    return this.#follow(view.id, pathOf(view) ?? "/", "skip");
  }

  /** A session that exists, is not in the trash, and is within the rights of this editor. */
  async #find(id: string): Promise<SessionView> {
    const { client, rights } = await this.#host();
    const params = { id: parseId(id) };
    const read = await client.readSession({ params, query: { limit: 1 } });
    if (!read.ok && read.error.code !== "session_not_found") throw requestErrorFrom(read.error);
    if (!read.ok || read.value.session.trashedAt !== null) throw unknownSession(id);
    if (!rights.mayReach(read.value.session)) throw unknownSession(id);
    return read.value.session;
  }

  /** The person is asked once, with the first prompt: only then is there a session to ask in. */
  async #settleFolder(session: EditorSession): Promise<void> {
    const folder = this.#wantedFolders.get(session.id);
    if (folder === undefined) return;
    const { client } = await this.#host();
    await askForFolder({ client, editor: this.#connectedEditor(), session, folder });
    this.#wantedFolders.delete(session.id);
  }

  /** Editors that get an update before the answer to their request may wait for ever. */
  #announce(session: EditorSession, mcpServers: readonly McpServer[]): void {
    setImmediate(() => {
      session.send({
        sessionUpdate: "available_commands_update",
        availableCommands: availableCommands(),
      });
      if (mcpServers.length > 0) session.notice("warning", acpStrings.mcpServersUnused);
      void session.sendUsage();
    });
  }

  get #clientIdPrefix(): string {
    return `acp:${this.#connectionId}:`;
  }

  /** The same request is the same message, however often it is sent to the host. */
  #clientIdOf(requestId: JsonRpcId): string {
    const digest = createHash("sha256").update(JSON.stringify(requestId)).digest("hex");
    return `${this.#clientIdPrefix}${digest.slice(0, 32)}`;
  }

  #connectedEditor(): AgentContext {
    if (this.#editor === undefined) throw new Error("No editor is connected.");
    return this.#editor;
  }
}

function parseId(id: string): SessionId {
  const parsed = sessionId.safeParse(id);
  if (!parsed.success) throw unknownSession(id);
  return parsed.data;
}
