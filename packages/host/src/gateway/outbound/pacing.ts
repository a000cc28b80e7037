import type { Clock } from "@holdfast/engine";
import { backoffMs } from "@holdfast/protocol";
import type { PlatformLimits, ChatAddress, PlatformAdapter, PlatformFailure } from "../adapter.ts";

/** `growing`: an update of a message already shown, which can wait for messages nobody has seen yet. */
export type SendPriority = "new" | "growing";

interface PaceRequest {
  readonly address: ChatAddress;
  readonly priority: SendPriority;
  readonly resolve: (turn: "granted" | "over") => void;
}

/** Serialises visible calls within each chat, and keeps all of them within the platform's rate. */
export class Pacer {
  readonly #limits: Pick<PlatformLimits, "paceMs" | "callsPerSecond">;
  readonly #clock: Clock;
  /** In order of request. */
  readonly #waiting = new Set<PaceRequest>();
  readonly #busy = new Set<string>();
  readonly #freeAtByChat = new Map<string, number>();
  #pauses = 0;
  #nextCall = 0;
  #timer: AbortController | null = null;

  constructor(limits: Pick<PlatformLimits, "paceMs" | "callsPerSecond">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** `null`: the signal was aborted first, and nothing was called. */
  async runPaced<T>(
    address: ChatAddress,
    priority: SendPriority,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T | null> {
    if ((await this.#wait(address, priority, signal)) === "over") return null;
    const { chat } = address;
    try {
      return await call();
    } finally {
      this.#busy.delete(chat);
      this.delayChat(address, this.#limits.paceMs(address));
      this.#grant();
    }
  }

  /** Delays all calls to this chat; a longer delay set before still applies. */
  delayChat({ chat }: ChatAddress, ms: number): void {
    this.#freeAtByChat.set(chat, Math.max(this.#clock.now() + ms, this.#freeAt(chat)));
  }

  /** Delays all calls until the promise settles. */
  pauseUntil(resumed: Promise<void>): void {
    this.#pauses += 1;
    void resumed.finally(() => {
      this.#pauses -= 1;
      this.#grant();
    });
  }

  #wait(
    address: ChatAddress,
    priority: SendPriority,
    signal: AbortSignal,
  ): Promise<"granted" | "over"> {
    if (signal.aborted) return Promise.resolve("over");
    return new Promise((resolve) => {
      const cancel = () => request.resolve("over");
      const request: PaceRequest = {
        address,
        priority,
        resolve: (turn) => {
          signal.removeEventListener("abort", cancel);
          this.#waiting.delete(request);
          resolve(turn);
        },
      };
      signal.addEventListener("abort", cancel);
      this.#waiting.add(request);
      this.#grant();
    });
  }

  #grant(): void {
    this.#timer?.abort("rescheduled");
    this.#timer = null;
    while (this.#pauses === 0 && this.#waiting.size > 0) {
      const now = this.#clock.now();
      if (now < this.#nextCall) return this.#wakeAt(this.#nextCall);
      const next = this.#nextRequest(now);
      if (next === undefined) return this.#wakeAt(this.#nextFreeAt());
      this.#nextCall = Math.max(now, this.#nextCall) + 1_000 / this.#limits.callsPerSecond;
      this.#busy.add(next.address.chat);
      this.#prune(now);
      next.resolve("granted");
    }
  }

  #nextRequest(now: number): PaceRequest | undefined {
    let growing: PaceRequest | undefined;
    for (const request of this.#waiting) {
      const { chat } = request.address;
      if (this.#busy.has(chat) || this.#freeAt(chat) > now) continue;
      if (request.priority === "new") return request;
      growing ??= request;
    }
    return growing;
  }

  /** When the next waiting chat becomes free, ignoring chats with a call in flight. */
  #nextFreeAt(): number {
    let soonest = Number.POSITIVE_INFINITY;
    for (const { address } of this.#waiting)
      if (!this.#busy.has(address.chat)) soonest = Math.min(soonest, this.#freeAt(address.chat));
    return soonest;
  }

  #wakeAt(time: number): void {
    if (time === Number.POSITIVE_INFINITY) return;
    this.#timer = new AbortController();
    void this.#sleepUntil(time, this.#timer.signal);
  }

  async #sleepUntil(time: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(Math.max(1, time - this.#clock.now()), signal);
    if (!signal.aborted) this.#grant();
  }

  #freeAt(chat: string): number {
    return this.#freeAtByChat.get(chat) ?? 0;
  }

  #prune(now: number): void {
    if (this.#freeAtByChat.size < 10_000) return;
    for (const [chat, until] of this.#freeAtByChat)
      if (until <= now) this.#freeAtByChat.delete(chat);
  }
}

const probeBackoff = { firstMs: 500, longestMs: 15_000 };

/**
 * Pauses all sends while a platform is down: each attempt could be one whose arrival is unknown. A harmless
 * request finds out when the platform is back.
 */
export class OutageMonitor {
  readonly #adapter: Pick<PlatformAdapter, "identify">;
  readonly #pacer: Pick<Pacer, "pauseUntil">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isProbing = false;

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

  /** Called with every failed call that showed nothing for certain. */
  reportFailure(failure: PlatformFailure): void {
    const isDown = failure.status === "unknown" || (failure.status === "later" && failure.isAway);
    if (!isDown || this.#isProbing) return;
    this.#isProbing = true;
    this.#pacer.pauseUntil(this.#probeUntilUp());
  }

  async #probeUntilUp(): Promise<void> {
    for (let failures = 0; !this.#signal.aborted; failures += 1) {
      const answer = await this.#adapter.identify(this.#signal);
      // Any answer, even a refusal, shows that the platform is up.
      if (answer.status === "identified" || answer.status === "refused") break;
      const requestedMs = answer.status === "later" ? answer.afterMs : 0;
      const delayMs = Math.max(backoffMs(probeBackoff, failures), requestedMs);
      await this.#clock.sleep(delayMs, this.#signal);
    }
    this.#isProbing = false;
  }
}
