import type { Clock, Holder, Liveness, Log, MemoryKeeper, Runner } from "@holdfast/engine";
import type { Client, IdSource, OwnerId } from "@holdfast/protocol";

import type { GatewayDesk } from "../api/index.ts";
import type { Route } from "../http/index.ts";
import type { Adapter } from "./adapter.ts";
import { menu } from "./chat-commands.ts";
import { Couriers } from "./couriers.ts";
import { settleUnknown } from "./notes.ts";
import { Pacer } from "./pace.ts";
import { People } from "./people.ts";
import { poll } from "./poller.ts";
import { Reception } from "./reception.ts";
import { Status } from "./status.ts";
import { hookRoute, type Hook } from "./webhook.ts";

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
  /** Where the platform pushes; without it, we ask. */
  readonly hook: Hook | undefined;
  readonly onError: (error: unknown) => void;
}

export interface Gateway extends GatewayDesk {
  readonly routes: readonly Route[];
  start(): void;
  stop(): Promise<void>;
}

interface Open {
  readonly adapter: Adapter;
  readonly people: People;
  readonly couriers: Couriers;
  readonly reception: Reception;
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
    const pacer = new Pacer(adapter.limits, clock);
    const couriers = new Couriers({ ...deps, adapter, bot, pacer, sweepMs });
    const people = peopleOf(bot);
    const owes = (session: Parameters<Couriers["poke"]>[1]) => couriers.poke(owner, session);
    const reception = new Reception({ ...deps, client: deps.client(), adapter, bot, people, owes });
    open = { adapter, people, couriers, reception };
    couriers.start();
    await adapter.announce(menu, stopping.signal);
    if (!(await subscribe(adapter))) return;
    const take = reception.take.bind(reception);
    const { register } = log.store;
    const onState = status.moved.bind(status);
    const asked = { adapter, register, owner, bot: botOf(bot), clock, take, onState };
    await poll(asked, stopping.signal);
  }

  /** Whether we have to ask for what is new ourselves. */
  async function subscribe(adapter: Adapter): Promise<boolean> {
    for (;;) {
      const done = await adapter.subscribe(hook ?? null, stopping.signal);
      if (stopping.signal.aborted) return false;
      if (done.status === "subscribed") break;
      status.failed(done);
      await clock.sleep(againMs, stopping.signal);
    }
    if (hook !== undefined) status.moved({ state: "receiving" });
    return hook === undefined;
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
      };
    },
    decidePairing: async (code, decision) =>
      (await open?.people.decide(code, decision === "allow" ? "allowed" : "denied")) ?? null,
    changePerson: async (person, decision) =>
      (await open?.people.change(person, decision === "allow" ? "allowed" : "denied")) ?? null,
    async settleChunk(asker, { delivery, chunk }, how) {
      const query = { delivery, states: ["unknown"], limit: 100 } as const;
      const rows = await log.store.reads.outbox(asker, query);
      const row = rows.find((each) => each.chunk === chunk);
      if (row === undefined) return null;
      const isDone = await settleUnknown({ log, owner: asker }, row, how, String(row.at));
      if (!isDone) return null;
      open?.couriers.poke(asker, row.session);
      return { ...row, state: how === "resend" ? "pending" : "dropped" };
    },
    routes: hook === undefined ? [] : [hookRoute(hook, () => open)],
    start() {
      work = run().catch(onError);
    },
    async stop() {
      stopping.abort();
      await Promise.all([work, open?.couriers.stop()]);
    },
  };
}
