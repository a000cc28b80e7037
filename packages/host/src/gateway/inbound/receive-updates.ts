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
  /** `contended`: another host or program receives for this bot. */
  | { readonly state: "contended" | "trouble"; readonly code: string; readonly message: string };

export class GatewayStatus {
  #view: StatusView = { state: "starting", bot: null, trouble: null };

  get view(): StatusView {
    return this.#view;
  }

  setIdentity({ id, name }: BotIdentity): void {
    this.#view = { ...this.#view, bot: { id, name } };
  }

  setState(next: GatewayState): void {
    const { bot } = this.#view;
    const trouble = "code" in next ? { code: next.code, message: next.message } : null;
    this.#view = { state: next.state, bot, trouble };
  }

  setFailure({ code, message }: PlatformFailure): void {
    this.setState({ state: "trouble", code, message });
  }
}

export interface PollerDeps {
  readonly adapter: PlatformAdapter;
  readonly register: Register;
  readonly owner: OwnerId;
  /** `platform:bot`, part of the cursor's key. */
  readonly bot: string;
  readonly clock: Clock;
  readonly handleUpdate: (incoming: Incoming) => Promise<unknown>;
  readonly onState: (state: GatewayState) => void;
}

const contendedRetryMs = 5_000;
const retryMs = 1_000;
const cursorSchema = z.int().nonnegative();

/**
 * Polls a platform for updates. P11: a page is confirmed, by asking for the next one, only after all of it was
 * handled. The position is durable, so a restarted host does not fetch handled pages again.
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
  // The first poll returns at once, to find out whether the platform is reachable.
  let mode: "wait" | "look" = "look";
  while (!signal.aborted) {
    const received = await adapter.receive(cursor.at, mode, signal);
    if (signal.aborted) return;
    if (received.status !== "received") {
      mode = "look";
      const { message } = received;
      const isFailure = received.status !== "contended";
      onState(isFailure ? failureState(received) : { ...contendedState, message });
      await clock.sleep(isFailure ? retryDelayOf(received) : contendedRetryMs, signal);
      continue;
    }
    mode = "wait";
    onState({ state: "receiving" });
    if (received.next === cursor.at) continue;
    const handled = await Promise.allSettled(received.incoming.map(deps.handleUpdate));
    const failed = handled.find((result) => result.status === "rejected");
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

function retryDelayOf(failure: PlatformFailure): number {
  return failure.status === "later" ? failure.afterMs : retryMs;
}

/**
 * The position up to which a bot's updates were handled. Written in the background: a write that fails, or that a
 * crash prevents, only costs a repetition, which the inbound keys detect.
 */
class PollCursor {
  readonly #deps: PollerDeps;
  #at: number;
  #revision: number;
  #saving: Promise<void> = Promise.resolve();

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

  /** Resolves once all pending writes have ended. */
  get saved(): Promise<void> {
    return this.#saving;
  }

  advance(position: number): void {
    this.#at = position;
    this.#saving = this.#saving.then(() => this.#save(position));
  }

  async #save(at: number): Promise<void> {
    // A later position is already queued.
    if (at !== this.#at) return;
    const { register, owner } = this.#deps;
    const row = { owner, key: cursorKey(this.#deps), value: JSON.stringify(at) };
    const result = await register.put({ ...row, expect: this.#revision });
    if (result.status !== "failed") this.#revision = result.row?.revision ?? 0;
  }
}

const cursorKey = ({ bot }: PollerDeps) => `poller/${bot}`;

export interface PushWebhook {
  /** The base URL at which the platform reaches us. */
  readonly url: string;
  /** Sent by the platform with every push. */
  readonly secret: string;
}

export const pushPath = "/hooks/telegram";
const secretHeader = "x-telegram-bot-api-secret-token";

/** P11: answers only once the update is durable; until then the platform pushes it again. */
export function pushRoute(
  { secret }: PushWebhook,
  openGateway: () =>
    | { readonly adapter: PlatformAdapter; readonly updateHandler: UpdateHandler }
    | undefined,
): Route {
  return {
    method: "POST",
    path: pushPath,
    policy: "signed",
    async handle(c) {
      if (!secretsMatch(c.req.header(secretHeader) ?? "", secret)) return c.body(null, 401);
      const gateway = openGateway();
      if (gateway === undefined) return c.body(null, 503);
      const pushed: unknown = await c.req.json().catch(() => null);
      const incoming = gateway.adapter.decodePush(pushed);
      if (incoming === null) return c.body(null, 200);
      try {
        await gateway.updateHandler.handle(incoming);
        return c.body(null, 200);
      } catch (error) {
        if (error instanceof RetryLater || error instanceof StoreFailure) return c.body(null, 503);
        throw error;
      }
    },
  };
}

function secretsMatch(given: string, secret: string): boolean {
  const [givenBytes, secretBytes] = [Buffer.from(given), Buffer.from(secret)];
  return givenBytes.length === secretBytes.length && timingSafeEqual(givenBytes, secretBytes);
}
