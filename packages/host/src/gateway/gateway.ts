import type { Clock, Holder, Liveness, Log, MemoryKeeper, Runner } from "@holdfast/engine";
import type { Client } from "@holdfast/client";
import type { IdSource, OwnerId } from "@holdfast/protocol";

import type { GatewayDesk } from "../server/api/gateway.ts";
import type { Route } from "../server/http/route.ts";
import type { Adapter } from "./adapter.ts";
import { holdBot } from "./bot-lease.ts";
import { ChatOrder } from "./outbound/pacing.ts";
import { menu } from "./inbound/gateway-chat-commands.ts";
import { ChatTitles } from "./inbound/chat-titles.ts";
import { Couriers } from "./outbound/dispatcher.ts";
import { settleUnknown } from "./outbound/enqueue.ts";
import { Outage } from "./outbound/outage.ts";
import { Pacer } from "./outbound/pace.ts";
import { chatNames, type Names } from "./chat-addressing.ts";
import { type Guests, People } from "./inbound/chat-access.ts";
import { poll } from "./inbound/poller.ts";
import { Reception } from "./inbound/handle-update.ts";
import { Status } from "./inbound/receive-updates.ts";
import { welcome } from "./outbound/welcome.ts";
import { hookRoute, type Hook } from "./inbound/push-route.ts";

export interface GatewayDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly runner: Pick<Runner, "poke">;
  readonly memory: Pick<MemoryKeeper, "boundary">;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
  /** Whose sessions a chat's are: paired people speak for their owner. */
  readonly owner: OwnerId;
  /** The same API that every surface has, in this process. */
  readonly client: () => Client;
  readonly openAdapter: () => Promise<Adapter>;
  readonly platform: string;
  readonly listed: readonly string[];
  /** Where they are called otherwise than in chats. */
  readonly names?: Names;
  /** Where it is not for pairing to say who may speak. */
  readonly people?: Guests;
  /** Where the platform pushes; without it, we ask. */
  readonly hook: Hook | undefined;
  readonly onError: (error: unknown) => void;
}

export interface Gateway extends GatewayDesk {
  readonly routes: readonly Route[];
  /** What was pushed to us; `undefined` before we know who we are. */
  readonly take: Reception["take"] | undefined;
  /** Resolves when we know who we are, or never will. */
  readonly whenOpen: Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface Open {
  readonly adapter: Adapter;
  readonly people: Guests;
  readonly titles: ChatTitles;
  readonly reception: Reception;
  readonly names: Names;
}

const sweepMs = 2_000;
const againMs = 5_000;
const longestAgainMs = 60_000;

/** One bot on one platform. It comes up by itself when the platform can be reached, and never keeps the host from starting. */
export function openGateway(deps: GatewayDeps): Gateway {
  const { log, clock, owner, platform, onError, hook } = deps;
  const stopping = new AbortController();
  const status = new Status();
  let open: Open | undefined;
  const opened = Promise.withResolvers<void>();
  /** While the bot is ours to send for. */
  let couriers: Couriers | undefined;
  let work: Promise<void> = Promise.resolve();
  const botOf = (id: string) => `${platform}:${id}`;

  /** Before the bot is known, the people of no bot. */
  const peopleOf = (bot: string) =>
    new People({
      register: log.store.register,
      owner,
      bot: botOf(bot),
      listed: deps.listed,
      now: () => log.store.now(),
    });

  async function identify(adapter: Adapter): Promise<string | null> {
    for (let pause = againMs; ; pause = Math.min(longestAgainMs, pause * 2)) {
      const me = await adapter.identify(stopping.signal);
      if (stopping.signal.aborted) return null;
      if (me.status === "identified") {
        status.identified(me);
        return me.id;
      }
      status.failed(me);
      const asked = me.status === "later" ? me.afterMs : pause;
      await clock.sleep(Math.max(asked, pause), stopping.signal);
      if (stopping.signal.aborted) return null;
    }
  }

  async function run(): Promise<void> {
    const adapter = await deps.openAdapter();
    const bot = await identify(adapter);
    if (bot === null) return;
    const people = deps.people ?? peopleOf(bot);
    const names = deps.names ?? chatNames(platform, bot);
    const titles = new ChatTitles(log.store.register, owner, botOf(bot));
    const owes = (session: Parameters<Couriers["poke"]>[1]) => couriers?.poke(owner, session);
    const reception = new Reception({
      ...deps,
      client: deps.client(),
      adapter,
      names,
      people,
      titles,
      owes,
    });
    open = { adapter, people, titles, reception, names };
    opened.resolve();
    const { store } = log;
    const lease = { ...deps, store, bot: botOf(bot), onHeld };
    await holdBot(lease, stopping.signal, (held) =>
      serve({ adapter, people, titles, reception, names }, bot, held),
    );
  }

  /** Another host on this store has the bot; it may be of any kind, and what it does is enough. */
  function onHeld(by: string): void {
    const message = `Another host on this store receives and sends for this bot (${by}). This one goes on when that one ends.`;
    status.moved({ state: "contended", code: "held_elsewhere", message });
  }

  /** Receives and sends for the bot, for as long as that is ours to do. */
  async function serve(
    { adapter, reception, names }: Open,
    bot: string,
    held: AbortSignal,
  ): Promise<void> {
    status.moved({ state: "starting" });
    const pacer = new Pacer(adapter.limits, clock);
    const outage = new Outage(adapter, pacer, clock, held);
    const order = new ChatOrder();
    const sending = new Couriers({ ...deps, adapter, names, pacer, outage, order, sweepMs });
    couriers = sending;
    sending.start();
    try {
      await adapter.announce(menu, held);
      await receive(adapter, reception, bot, held);
    } finally {
      couriers = undefined;
      await sending.stop();
    }
  }

  async function receive(
    adapter: Adapter,
    reception: Reception,
    bot: string,
    held: AbortSignal,
  ): Promise<void> {
    if (!(await subscribe(adapter, held))) return;
    if (hook !== undefined) {
      status.moved({ state: "receiving" });
      await new Promise((resolve) => held.addEventListener("abort", resolve, { once: true }));
      return;
    }
    const take = reception.take.bind(reception);
    const { register } = log.store;
    const onState = status.moved.bind(status);
    await poll({ adapter, register, owner, bot: botOf(bot), clock, take, onState }, held);
  }

  async function subscribe(adapter: Adapter, held: AbortSignal): Promise<boolean> {
    for (;;) {
      const done = await adapter.subscribe(hook ?? null, held);
      if (held.aborted) return false;
      if (done.status === "subscribed") return true;
      status.failed(done);
      await clock.sleep(againMs, held);
    }
  }

  return {
    platform,
    lanePrefix: () => `${platform}:${status.shown.bot?.id ?? ""}`,
    status: () => status.shown,
    async people() {
      if (open === undefined) return { requests: [], people: [] };
      return {
        requests: [...(await open.people.requests())],
        people: [...(await open.people.paired())],
        chats: await open.titles.all(),
      };
    },
    async decidePairing(code, decision) {
      if (open === undefined) return null;
      const { people, names } = open;
      const chat = await people.askedIn(code);
      const person = await people.decide(code, decision === "allow" ? "allowed" : "denied");
      const isLetIn = person?.state === "allowed" && chat !== null;
      const session = isLetIn ? await welcome({ log, owner, names }, chat, code) : null;
      if (session !== null) couriers?.poke(owner, session);
      return person;
    },
    changePerson: async (person, decision) =>
      (await open?.people.change(person, decision === "allow" ? "allowed" : "denied")) ?? null,
    async settleChunk(asker, { delivery, chunk }, how) {
      const query = { delivery, states: ["unknown"], limit: 100 } as const;
      const rows = await log.store.reads.outbox(asker, query);
      const row = rows.find((each) => each.chunk === chunk);
      if (row === undefined) return null;
      const isDone = await settleUnknown({ log, owner: asker }, row, how, String(row.at));
      if (!isDone) return null;
      couriers?.poke(asker, row.session);
      return { ...row, state: how === "resend" ? "pending" : "dropped" };
    },
    routes: hook === undefined ? [] : [hookRoute(hook, () => open)],
    get take() {
      return open?.reception.take.bind(open.reception);
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
