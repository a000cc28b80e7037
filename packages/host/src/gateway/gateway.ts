import type { Clock, Holder, Liveness, Log, MemoryCommitter, Runner } from "@holdfast/engine";
import type { Client } from "@holdfast/client";
import type { IdSource, OwnerId } from "@holdfast/protocol";

import type { GatewayAdmin } from "../server/api/gateway.ts";
import type { Route } from "../server/http/routing.ts";
import type { PlatformAdapter } from "./adapter.ts";
import { withBotLease } from "./bot-lease.ts";
import { ChatQueue, OutageMonitor, Pacer } from "./outbound/pacing.ts";
import { commandMenu } from "./inbound/chat-commands.ts";
import { ChatTitles } from "./inbound/chat-titles.ts";
import { Dispatcher } from "./outbound/dispatcher.ts";
import { settleUnknownChunk, enqueueWelcome } from "./outbound/enqueue.ts";
import { chatAddressing, type ChatAddressing } from "./chat-addressing.ts";
import { type ChatAccess, PairingAccess } from "./inbound/chat-access.ts";
import {
  pollUpdates,
  GatewayStatus,
  pushRoute,
  type PushWebhook,
} from "./inbound/receive-updates.ts";
import { UpdateHandler } from "./inbound/handle-update.ts";

export interface GatewayDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly runner: Pick<Runner, "notify">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
  /** Whose sessions a chat's are: paired people speak for their owner. */
  readonly owner: OwnerId;
  /** The same API that every surface has, in this process. */
  readonly client: () => Client;
  readonly openAdapter: () => Promise<PlatformAdapter>;
  readonly platform: string;
  readonly allowedPeople: readonly string[];
  /** Where they are called otherwise than in chats. */
  readonly addressing?: ChatAddressing;
  /** Where it is not for pairing to say who may speak. */
  readonly access?: ChatAccess;
  /** Where the platform pushes; without it, we ask. */
  readonly pushWebhook: PushWebhook | undefined;
  readonly onError: (error: unknown) => void;
}

export interface Gateway extends GatewayAdmin {
  readonly routes: readonly Route[];
  /** What was pushed to us; `undefined` before we know who we are. */
  readonly handleUpdate: UpdateHandler["handle"] | undefined;
  /** Resolves when we know who we are, or never will. */
  readonly whenOpen: Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface OpenBot {
  readonly adapter: PlatformAdapter;
  readonly people: ChatAccess;
  readonly titles: ChatTitles;
  readonly reception: UpdateHandler;
  readonly names: ChatAddressing;
}

const sweepMs = 2_000;
const retryMs = 5_000;
const maxRetryMs = 60_000;

/** One bot on one platform. It comes up by itself when the platform can be reached, and never keeps the host from starting. */
export function openGateway(deps: GatewayDeps): Gateway {
  const { log, clock, owner, platform, onError, pushWebhook: hook } = deps;
  const stopping = new AbortController();
  const status = new GatewayStatus();
  let open: OpenBot | undefined;
  const opened = Promise.withResolvers<void>();
  /** While the bot is ours to send for. */
  let couriers: Dispatcher | undefined;
  let work: Promise<void> = Promise.resolve();
  const botOf = (id: string) => `${platform}:${id}`;

  /** Before the bot is known, the people of no bot. */
  const peopleOf = (bot: string) =>
    new PairingAccess({
      register: log.store.register,
      owner,
      bot: botOf(bot),
      listed: deps.allowedPeople,
      now: () => log.store.now(),
    });

  async function identify(adapter: PlatformAdapter): Promise<string | null> {
    for (let pause = retryMs; ; pause = Math.min(maxRetryMs, pause * 2)) {
      const me = await adapter.identify(stopping.signal);
      if (stopping.signal.aborted) return null;
      if (me.status === "identified") {
        status.setIdentity(me);
        return me.id;
      }
      status.setFailure(me);
      const asked = me.status === "later" ? me.afterMs : pause;
      await clock.sleep(Math.max(asked, pause), stopping.signal);
      if (stopping.signal.aborted) return null;
    }
  }

  async function run(): Promise<void> {
    const adapter = await deps.openAdapter();
    const bot = await identify(adapter);
    if (bot === null) return;
    const people = deps.access ?? peopleOf(bot);
    const names = deps.addressing ?? chatAddressing(platform, bot);
    const titles = new ChatTitles(log.store.register, owner, botOf(bot));
    const owes = (session: Parameters<Dispatcher["notify"]>[1]) => couriers?.notify(owner, session);
    const reception = new UpdateHandler({
      ...deps,
      client: deps.client(),
      adapter,
      addressing: names,
      access: people,
      titles,
      notifyOutbox: owes,
    });
    open = { adapter, people, titles, reception, names };
    opened.resolve();
    const { store } = log;
    const lease = { ...deps, store, bot: botOf(bot), onHeld };
    await withBotLease(lease, stopping.signal, (held) =>
      serve({ adapter, people, titles, reception, names }, bot, held),
    );
  }

  /** Another host on this store has the bot; it may be of any kind, and what it does is enough. */
  function onHeld(by: string): void {
    const message = `Another host on this store receives and sends for this bot (${by}). This one goes on when that one ends.`;
    status.setState({ state: "contended", code: "held_elsewhere", message });
  }

  /** Receives and sends for the bot, for as long as that is ours to do. */
  async function serve(
    { adapter, reception, names }: OpenBot,
    bot: string,
    held: AbortSignal,
  ): Promise<void> {
    status.setState({ state: "starting" });
    const pacer = new Pacer(adapter.limits, clock);
    const outage = new OutageMonitor(adapter, pacer, clock, held);
    const order = new ChatQueue();
    const sending = new Dispatcher({
      ...deps,
      adapter,
      addressing: names,
      pacer,
      outage,
      queue: order,
      sweepMs,
    });
    couriers = sending;
    sending.start();
    try {
      await adapter.publishCommands(commandMenu, held);
      await receive(adapter, reception, bot, held);
    } finally {
      couriers = undefined;
      await sending.stop();
    }
  }

  async function receive(
    adapter: PlatformAdapter,
    reception: UpdateHandler,
    bot: string,
    held: AbortSignal,
  ): Promise<void> {
    if (!(await subscribe(adapter, held))) return;
    if (hook !== undefined) {
      status.setState({ state: "receiving" });
      await new Promise((resolve) => held.addEventListener("abort", resolve, { once: true }));
      return;
    }
    const take = reception.handle.bind(reception);
    const { register } = log.store;
    const onState = status.setState.bind(status);
    await pollUpdates(
      { adapter, register, owner, bot: botOf(bot), clock, handleUpdate: take, onState },
      held,
    );
  }

  async function subscribe(adapter: PlatformAdapter, held: AbortSignal): Promise<boolean> {
    for (;;) {
      const done = await adapter.subscribe(hook ?? null, held);
      if (held.aborted) return false;
      if (done.status === "subscribed") return true;
      status.setFailure(done);
      await clock.sleep(retryMs, held);
    }
  }

  return {
    platform,
    lanePrefix: () => `${platform}:${status.view.bot?.id ?? ""}`,
    status: () => status.view,
    async people() {
      if (open === undefined) return { requests: [], people: [] };
      return {
        requests: [...(await open.people.requests())],
        people: [...(await open.people.pairedPeople())],
        chats: await open.titles.list(),
      };
    },
    async decidePairing(code, decision) {
      if (open === undefined) return null;
      const { people, names } = open;
      const chat = await people.requestChatOf(code);
      const person = await people.decidePairing(code, decision === "allow" ? "allowed" : "denied");
      const isLetIn = person?.state === "allowed" && chat !== null;
      const session = isLetIn ? await enqueueWelcome({ log, owner, names }, chat, code) : null;
      if (session !== null) couriers?.notify(owner, session);
      return person;
    },
    changePerson: async (person, decision) =>
      (await open?.people.changePerson(person, decision === "allow" ? "allowed" : "denied")) ??
      null,
    async settleChunk(asker, { delivery, chunk }, how) {
      const query = { delivery, states: ["unknown"], limit: 100 } as const;
      const rows = await log.store.reads.outbox(asker, query);
      const row = rows.find((each) => each.chunk === chunk);
      if (row === undefined) return null;
      const isDone = await settleUnknownChunk({ log, owner: asker }, row, how, String(row.at));
      if (!isDone) return null;
      couriers?.notify(asker, row.session);
      return { ...row, state: how === "resend" ? "pending" : "dropped" };
    },
    routes: hook === undefined ? [] : [pushRoute(hook, () => open)],
    get handleUpdate() {
      return open?.reception.handle.bind(open.reception);
    },
    whenOpen: opened.promise,
    start() {
      work = run().catch(onError).finally(opened.resolve);
    },
    async stop() {
      stopping.abort();
      await work;
    },
  };
}
