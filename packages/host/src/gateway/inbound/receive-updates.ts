import { z } from "zod";
import { timingSafeEqual } from "node:crypto";
import type { GatewayView, OwnerId } from "@holdfast/protocol";
import type { BotIdentity, PlatformFailure, PlatformAdapter, Incoming } from "../adapter.ts";
import { type Clock, type Register, StoreFailure } from "@holdfast/engine";
import type { Route } from "../../server/http/routing.ts";
import type { UpdateHandler } from "./handle-update.ts";
import { RetryLater } from "./admit-message.ts";

type StatusView = Pick<GatewayView, "state" | "bot" | "trouble">;

export type GatewayState =
  | { readonly state: "starting" | "receiving" }
  /** Somebody else receives for this bot: another host, or another program. */
  | { readonly state: "contended" | "trouble"; readonly code: string; readonly message: string };

/** How a gateway stands, for whoever looks. */
export class GatewayStatus {
  #shown: StatusView = { state: "starting", bot: null, trouble: null };

  get view(): StatusView {
    return this.#shown;
  }

  setIdentity({ id, name }: BotIdentity): void {
    this.#shown = { ...this.#shown, bot: { id, name } };
  }

  setState(to: GatewayState): void {
    const { bot } = this.#shown;
    const trouble = "code" in to ? { code: to.code, message: to.message } : null;
    this.#shown = { state: to.state, bot, trouble };
  }

  setFailure({ code, message }: PlatformFailure): void {
    this.setState({ state: "trouble", code, message });
  }
}

export interface PollerDeps {
  readonly adapter: PlatformAdapter;
  readonly register: Register;
  readonly owner: OwnerId;
  /** Platform and bot: names its cursor. */
  readonly bot: string;
  readonly clock: Clock;
  readonly handleUpdate: (incoming: Incoming) => Promise<unknown>;
  readonly onState: (state: GatewayState) => void;
}

const contendedMs = 5_000;
const retryMs = 1_000;
const cursorSchema = z.int().nonnegative();

/**
 * Asks a platform for what is new. P11: a page is confirmed, by asking for the next, only when all of it has been taken; how
 * far that was is durable, so that a host that begins again asks for nothing that it had.
 */
export async function pollUpdates(deps: PollerDeps, signal: AbortSignal): Promise<void> {
  const cursor = await PollCursor.read(deps);
  try {
    await pollFrom(deps, cursor, signal);
  } finally {
    await cursor.saved;
  }
}

async function pollFrom(deps: PollerDeps, cursor: PollCursor, signal: AbortSignal): Promise<void> {
  const { adapter, clock, onState } = deps;
  // Whether anybody is there is found out without waiting.
  let patience: "wait" | "look" = "look";
  while (!signal.aborted) {
    const received = await adapter.receive(cursor.at, patience, signal);
    if (signal.aborted) return;
    if (received.status !== "received") {
      patience = "look";
      const { message } = received;
      const isOurs = received.status !== "contended";
      onState(isOurs ? failureState(received) : { ...contendedState, message });
      await clock.sleep(isOurs ? retryDelayOf(received) : contendedMs, signal);
      continue;
    }
    patience = "wait";
    onState({ state: "receiving" });
    if (received.next === cursor.at) continue;
    const taken = await Promise.allSettled(received.incoming.map(deps.handleUpdate));
    const failed = taken.find((each) => each.status === "rejected");
    if (failed !== undefined) {
      onState({ state: "trouble", code: "store", message: String(failed.reason) });
      await clock.sleep(retryMs, signal);
      continue;
    }
    cursor.advance(received.next);
  }
}

const contendedState = { state: "contended", code: "foreign_poller" } as const;

function failureState({ code, message }: PlatformFailure): GatewayState {
  return { state: "trouble", code, message };
}

function retryDelayOf(trouble: PlatformFailure): number {
  return trouble.status === "later" ? trouble.afterMs : retryMs;
}

/**
 * How far a bot's messages were taken. Nobody waits for it to be kept: one that could not be, or was not yet when its host died,
 * costs a repetition, which the inbound keys see through.
 */
class PollCursor {
  readonly #deps: PollerDeps;
  #at: number;
  #revision: number;
  #keeping: Promise<void> = Promise.resolve();

  private constructor(deps: PollerDeps, position: number, revision: number) {
    this.#deps = deps;
    this.#at = position;
    this.#revision = revision;
  }

  static async read(deps: PollerDeps): Promise<PollCursor> {
    const row = await deps.register.read(deps.owner, cursorKey(deps));
    if (row === null) return new PollCursor(deps, 0, 0);
    const parsed = cursorSchema.safeParse(JSON.parse(row.value));
    return new PollCursor(deps, parsed.success ? parsed.data : 0, row.revision);
  }

  get at(): number {
    return this.#at;
  }

  /** All of it is written, or could not be. */
  get saved(): Promise<void> {
    return this.#keeping;
  }

  advance(to: number): void {
    this.#at = to;
    this.#keeping = this.#keeping.then(() => this.#keep(to));
  }

  async #keep(at: number): Promise<void> {
    // Meanwhile it may have gone further, and that is kept then.
    if (at !== this.#at) return;
    const { register, owner } = this.#deps;
    const row = { owner, key: cursorKey(this.#deps), value: JSON.stringify(at) };
    const result = await register.put({ ...row, expect: this.#revision });
    if (result.status !== "failed") this.#revision = result.row?.revision ?? 0;
  }
}

const cursorKey = ({ bot }: PollerDeps) => `poller/${bot}`;

export interface PushWebhook {
  /** Where the platform reaches us, without the path. */
  readonly url: string;
  /** Shown by the platform with everything that it pushes. There is no hook without one. */
  readonly secret: string;
}

export const pushPath = "/hooks/telegram";
const secretHeader = "x-telegram-bot-api-secret-token";

/** P11: answered when what came is durable; until then the platform pushes it again. */
export function pushRoute(
  { secret }: PushWebhook,
  opened: () =>
    | { readonly adapter: PlatformAdapter; readonly reception: UpdateHandler }
    | undefined,
): Route {
  return {
    method: "POST",
    path: pushPath,
    policy: "signed",
    async handle(c) {
      if (!secretsMatch(c.req.header(secretHeader) ?? "", secret)) return c.body(null, 401);
      const gateway = opened();
      if (gateway === undefined) return c.body(null, 503);
      const pushed: unknown = await c.req.json().catch(() => null);
      const incoming = gateway.adapter.decodePush(pushed);
      if (incoming === null) return c.body(null, 200);
      try {
        await gateway.reception.handle(incoming);
        return c.body(null, 200);
      } catch (error) {
        if (error instanceof RetryLater || error instanceof StoreFailure) return c.body(null, 503);
        throw error;
      }
    },
  };
}

function secretsMatch(given: string, secret: string): boolean {
  const [one, two] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === two.length && timingSafeEqual(one, two);
}
