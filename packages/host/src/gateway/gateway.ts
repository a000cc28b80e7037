import type { Clock, Holder, Liveness, Log, MemoryCommitter, Runner } from "@holdfast/engine";
import type { Client } from "@holdfast/client";
import { backoffMs, type IdSource, type OwnerId, type SessionMode } from "@holdfast/protocol";

import type { GatewayAdmin } from "../server/api/gateway.ts";
import type { Route } from "../server/http/routing.ts";
import type { PlatformAdapter } from "./adapter.ts";
import { withBotLease } from "./bot-lease.ts";
import { commandMenu } from "./inbound/chat-commands.ts";
import { ChatTitles } from "./inbound/chat-titles.ts";
import { Dispatcher } from "./outbound/dispatcher.ts";
import { settleUnknownChunk, enqueueWelcome } from "./outbound/enqueue.ts";
import { chatAddressing, type ChatAddressing } from "./lanes.ts";
import { type ChatAccess, PairingAccess } from "./inbound/chat-access.ts";
import {
  pollUpdates,
  GatewayStatus,
  pushRoute,
  type PushWebhook,
} from "./inbound/receive-updates.ts";
import { UpdateHandler } from "./inbound/handle-update.ts";
import { openRightsResolver } from "../rights/resolve-rights.ts";

export interface GatewayDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly runner: Pick<Runner, "notify">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
  /** Owner of the sessions that chats create: paired people act on their behalf. */
  readonly owner: OwnerId;
  /** The public API, called in-process. */
  readonly client: () => Client;
  readonly openAdapter: () => Promise<PlatformAdapter>;
  readonly platform: string;
  readonly allowedPeople: readonly string[];
  /** Defaults to chats and threads of the platform. */
  readonly addressing?: ChatAddressing;
  /** Defaults to pairing. */
  readonly access?: ChatAccess;
  /** Where the platform pushes updates; without it, we poll. */
  readonly pushWebhook: PushWebhook | undefined;
  /** The mode that new sessions get, where their lane answers approvals. */
  readonly newSessionMode?: SessionMode | undefined;
  readonly onError: (error: unknown) => void;
}

export interface Gateway extends GatewayAdmin {
  readonly routes: readonly Route[];
  /** Handles a pushed update; `undefined` until the bot is identified. */
  readonly handleUpdate: UpdateHandler["handle"] | undefined;
  /** Resolves once the bot is identified, or the gateway has stopped. */
  readonly whenOpen: Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface OpenBot {
  readonly adapter: PlatformAdapter;
  readonly access: ChatAccess;
  readonly titles: ChatTitles;
  readonly updateHandler: UpdateHandler;
  readonly dispatcher: Dispatcher;
  readonly addressing: ChatAddressing;
}

const sweepMs = 2_000;
const retryMs = 5_000;
const identifyBackoff = { firstMs: retryMs, longestMs: 60_000 };

/** One bot on one platform. It connects once the platform can be reached, and never blocks the host's startup. */
export function openGateway(deps: GatewayDeps): Gateway {
  const { log, clock, owner, platform, onError, pushWebhook } = deps;
  const stopping = new AbortController();
  const status = new GatewayStatus();
  let open: OpenBot | undefined;
  const opened = Promise.withResolvers<void>();
  let running: Promise<void> = Promise.resolve();
  const botKeyOf = (id: string) => `${platform}:${id}`;

  const pairingAccess = (bot: string) =>
    new PairingAccess({
      register: log.store.register,
      owner,
      bot: botKeyOf(bot),
      listed: deps.allowedPeople,
      now: () => log.store.now(),
    });

  async function identify(adapter: PlatformAdapter): Promise<string | null> {
    for (let failures = 0; ; failures += 1) {
      const identity = await adapter.identify(stopping.signal);
      if (stopping.signal.aborted) return null;
      if (identity.status === "identified") {
        status.setIdentity(identity);
        return identity.id;
      }
      status.setFailure(identity);
      const requestedMs = identity.status === "later" ? identity.afterMs : 0;
      const delayMs = Math.max(requestedMs, backoffMs(identifyBackoff, failures));
      await clock.sleep(delayMs, stopping.signal);
      if (stopping.signal.aborted) return null;
    }
  }

  async function run(): Promise<void> {
    const adapter = await deps.openAdapter();
    const bot = await identify(adapter);
    if (bot === null) return;
    const access = deps.access ?? pairingAccess(bot);
    const addressing = deps.addressing ?? chatAddressing(platform, bot);
    const titles = new ChatTitles(log.store.register, owner, botKeyOf(bot));
    const rights = openRightsResolver(log.store.register);
    const dispatcher = new Dispatcher({ ...deps, adapter, addressing, rights, sweepMs });
    const updateHandler = new UpdateHandler({
      ...deps,
      rights,
      client: deps.client(),
      adapter,
      addressing,
      access,
      titles,
      dispatcher,
    });
    const openBot = { adapter, access, titles, updateHandler, dispatcher, addressing };
    open = openBot;
    opened.resolve();
    const { store } = log;
    const lease = { ...deps, store, bot: botKeyOf(bot), onHeld };
    await withBotLease(lease, stopping.signal, (signal) => serve(openBot, bot, signal));
  }

  function onHeld(by: string): void {
    const message = `Another host on this store receives and sends for this bot (${by}). This one goes on when that one ends.`;
    status.setState({ state: "contended", code: "held_elsewhere", message });
  }

  /** Receives and sends for the bot while we hold its lease. */
  async function serve(
    { adapter, updateHandler, dispatcher }: OpenBot,
    bot: string,
    signal: AbortSignal,
  ): Promise<void> {
    status.setState({ state: "starting" });
    const ended = new AbortController();
    const delivering = dispatcher.run(AbortSignal.any([signal, ended.signal]));
    try {
      await adapter.publishCommands(commandMenu, signal);
      await receive(adapter, updateHandler, bot, signal);
    } finally {
      ended.abort();
      await delivering;
    }
  }

  async function receive(
    adapter: PlatformAdapter,
    updateHandler: UpdateHandler,
    bot: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (!(await subscribe(adapter, signal))) return;
    if (pushWebhook !== undefined) {
      status.setState({ state: "receiving" });
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return;
    }
    const handleUpdate = updateHandler.handle.bind(updateHandler);
    const { register } = log.store;
    const onState = status.setState.bind(status);
    await pollUpdates(
      { adapter, register, owner, bot: botKeyOf(bot), clock, handleUpdate, onState },
      signal,
    );
  }

  async function subscribe(adapter: PlatformAdapter, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const result = await adapter.subscribe(pushWebhook ?? null, signal);
      if (signal.aborted) return false;
      if (result.status === "subscribed") return true;
      status.setFailure(result);
      await clock.sleep(retryMs, signal);
    }
  }

  return {
    platform,
    lanePrefix: () => `${platform}:${status.view.bot?.id ?? ""}`,
    status: () => status.view,
    async people() {
      if (open === undefined) return { requests: [], people: [] };
      return {
        requests: [...(await open.access.requests())],
        people: [...(await open.access.pairedPeople())],
        chats: await open.titles.list(),
      };
    },
    async decidePairing(code, decision) {
      if (open === undefined) return null;
      const { access, addressing } = open;
      const chat = await access.requestChatOf(code);
      const person = await access.decidePairing(code, decision === "allow" ? "allowed" : "denied");
      const isAdmitted = person?.state === "allowed" && chat !== null;
      const session = isAdmitted
        ? await enqueueWelcome({ log, owner, addressing }, chat, code)
        : null;
      if (session !== null) open.dispatcher.notify(owner, session);
      return person;
    },
    changePerson: async (person, decision) =>
      (await open?.access.changePerson(person, decision === "allow" ? "allowed" : "denied")) ??
      null,
    async settleChunk(requester, { delivery, chunk }, action) {
      const query = { delivery, states: ["unknown"], limit: 100 } as const;
      const rows = await log.store.reads.outbox(requester, query);
      const row = rows.find((candidate) => candidate.chunk === chunk);
      if (row === undefined) return null;
      const isSettled = await settleUnknownChunk(
        { log, owner: requester },
        row,
        action,
        String(row.at),
      );
      if (!isSettled) return null;
      open?.dispatcher.notify(requester, row.session);
      return { ...row, state: action === "resend" ? "pending" : "dropped" };
    },
    routes: pushWebhook === undefined ? [] : [pushRoute(pushWebhook, () => open)],
    get handleUpdate() {
      return open?.updateHandler.handle.bind(open.updateHandler);
    },
    whenOpen: opened.promise,
    start() {
      running = run().catch(onError).finally(opened.resolve);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
