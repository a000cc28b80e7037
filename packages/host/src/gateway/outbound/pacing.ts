import type { Clock } from "@holdfast/engine";
import type { PlatformLimits, ChatAddress, PlatformAdapter, PlatformFailure } from "../adapter.ts";

interface QueueEntry {
  /** By the store's clock: when it came to be owed. */
  readonly pendingSince: number;
  readonly wake: () => void;
}

/**
 * Messages that are ready to go out, by chat. A chat may hear from several sessions, when its lane has moved while an answer
 * was on its way: the oldest goes first, also while it waits for another try.
 */
export class ChatQueue {
  readonly #chats = new Map<string, Map<string, QueueEntry>>();

  /** Whether it is this one's turn. If not, its bell rings when that may have changed. */
  join(chat: string, key: string, waiting: QueueEntry): boolean {
    const here = this.#chats.get(chat) ?? new Map<string, QueueEntry>();
    this.#chats.set(chat, here);
    here.set(key, waiting);
    return oldestOf(here) === key;
  }

  leave(chat: string, key: string): void {
    const here = this.#chats.get(chat);
    if (here?.delete(key) !== true) return;
    if (here.size === 0) this.#chats.delete(chat);
    const next = oldestOf(here);
    if (next !== undefined) here.get(next)?.wake();
  }
}

function oldestOf(here: ReadonlyMap<string, QueueEntry>): string | undefined {
  let first: string | undefined;
  let since = Number.POSITIVE_INFINITY;
  for (const [key, waiting] of here)
    if (waiting.pendingSince < since) [first, since] = [key, waiting.pendingSince];
  return first;
}

/** `growing`: what stands there already is brought up to date, and can wait for what nobody has seen yet. */
export type SendPriority = "new" | "growing";

interface PaceRequest {
  readonly address: ChatAddress;
  readonly urgency: SendPriority;
  readonly resolve: (turn: "granted" | "over") => void;
}

/** Calls that show something go out one by one in each chat, and in all no faster than the platform takes them. */
export class Pacer {
  readonly #limits: Pick<PlatformLimits, "paceMs" | "callsPerSecond">;
  readonly #clock: Clock;
  /** In the order in which they asked. */
  readonly #waiting = new Set<PaceRequest>();
  readonly #busy = new Set<string>();
  readonly #free = new Map<string, number>();
  #shut = 0;
  #nextCall = 0;
  #alarm: AbortController | null = null;

  constructor(limits: Pick<PlatformLimits, "paceMs" | "callsPerSecond">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** `null`: the signal came first, and nothing was called. */
  async runPaced<T>(
    place: ChatAddress,
    urgency: SendPriority,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T | null> {
    if ((await this.#wait(place, urgency, signal)) === "over") return null;
    const { chat } = place;
    try {
      return await call();
    } finally {
      this.#busy.delete(chat);
      this.delayChat(place, this.#limits.paceMs(place));
      this.#grant();
    }
  }

  /** Nothing goes to this chat for so long; a longer pause that was asked for before stays. */
  delayChat({ chat }: ChatAddress, ms: number): void {
    this.#free.set(chat, Math.max(this.#clock.now() + ms, this.#freeAt(chat)));
  }

  /** Nothing goes anywhere until then. */
  pauseUntil(opened: Promise<void>): void {
    this.#shut += 1;
    void opened.finally(() => {
      this.#shut -= 1;
      this.#grant();
    });
  }

  #wait(
    place: ChatAddress,
    urgency: SendPriority,
    signal: AbortSignal,
  ): Promise<"granted" | "over"> {
    if (signal.aborted) return Promise.resolve("over");
    return new Promise((resolve) => {
      const leave = () => ticket.resolve("over");
      const ticket: PaceRequest = {
        address: place,
        urgency,
        resolve: (turn) => {
          signal.removeEventListener("abort", leave);
          this.#waiting.delete(ticket);
          resolve(turn);
        },
      };
      signal.addEventListener("abort", leave);
      this.#waiting.add(ticket);
      this.#grant();
    });
  }

  #grant(): void {
    this.#alarm?.abort("set anew");
    this.#alarm = null;
    while (this.#shut === 0 && this.#waiting.size > 0) {
      const now = this.#clock.now();
      if (now < this.#nextCall) return this.#wakeAt(this.#nextCall);
      const next = this.#nextTicket(now);
      if (next === undefined) return this.#wakeAt(this.#soonest());
      this.#nextCall = Math.max(now, this.#nextCall) + 1_000 / this.#limits.callsPerSecond;
      this.#busy.add(next.address.chat);
      this.#forgetOld(now);
      next.resolve("granted");
    }
  }

  #nextTicket(now: number): PaceRequest | undefined {
    let growing: PaceRequest | undefined;
    for (const ticket of this.#waiting) {
      const { chat } = ticket.address;
      if (this.#busy.has(chat) || this.#freeAt(chat) > now) continue;
      if (ticket.urgency === "new") return ticket;
      growing ??= ticket;
    }
    return growing;
  }

  /** When a chat that waits is free again, as far as that is a matter of time. */
  #soonest(): number {
    let soonest = Number.POSITIVE_INFINITY;
    for (const { address: place } of this.#waiting)
      if (!this.#busy.has(place.chat)) soonest = Math.min(soonest, this.#freeAt(place.chat));
    return soonest;
  }

  #wakeAt(time: number): void {
    if (time === Number.POSITIVE_INFINITY) return;
    this.#alarm = new AbortController();
    void this.#sleepUntil(time, this.#alarm.signal);
  }

  async #sleepUntil(time: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(Math.max(1, time - this.#clock.now()), signal);
    if (!signal.aborted) this.#grant();
  }

  #freeAt(chat: string): number {
    return this.#free.get(chat) ?? 0;
  }

  #forgetOld(now: number): void {
    if (this.#free.size < 10_000) return;
    for (const [chat, until] of this.#free) if (until <= now) this.#free.delete(chat);
  }
}

const firstProbeMs = 500;
const maxProbeMs = 15_000;

/**
 * While a platform is away nothing is sent to it: each try might be one of which nobody can say whether it arrived. A
 * question that changes nothing finds out when it is back.
 */
export class OutageMonitor {
  readonly #adapter: Pick<PlatformAdapter, "identify">;
  readonly #pacer: Pick<Pacer, "pauseUntil">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isOn = false;

  constructor(
    adapter: Pick<PlatformAdapter, "identify">,
    pacer: Pick<Pacer, "pauseUntil">,
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#adapter = adapter;
    this.#pacer = pacer;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** How a call ended that showed nothing for certain. */
  reportFailure(trouble: PlatformFailure): void {
    const isAway = trouble.status === "unknown" || (trouble.status === "later" && trouble.isAway);
    if (!isAway || this.#isOn) return;
    this.#isOn = true;
    this.#pacer.pauseUntil(this.#pass());
  }

  async #pass(): Promise<void> {
    for (let pause = firstProbeMs; !this.#signal.aborted; pause = nextProbeMs(pause)) {
      const answer = await this.#adapter.identify(this.#signal);
      // Whatever it says, it is there to say it.
      if (answer.status === "identified" || answer.status === "refused") break;
      const asked = answer.status === "later" ? answer.afterMs : 0;
      await this.#clock.sleep(Math.max(pause, asked), this.#signal);
    }
    this.#isOn = false;
  }
}

function nextProbeMs(pause: number): number {
  return Math.min(maxProbeMs, pause * 2);
}
