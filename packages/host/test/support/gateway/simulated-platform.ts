import type { Clock } from "@holdfast/engine";

import type {
  PlatformAdapter,
  Incoming,
  ChatAddress,
  PlatformFailure,
} from "../../../src/gateway/adapter.ts";

/** How a platform is unavailable. */
export type Away = "fails" | "cuts";

interface Shown {
  readonly at: number;
  readonly place: ChatAddress;
  readonly text: string;
}

const troubles: Readonly<Record<Away, PlatformFailure>> = {
  fails: {
    status: "later",
    afterMs: 2_000,
    isAway: true,
    code: "platform_down",
    message: "It is away.",
  },
  cuts: { status: "unknown", code: "connection_lost", message: "The connection broke." },
};

/** A platform in simulated time: what it shows, when, and how often it was called. */
export class SimulatedPlatform {
  readonly shown: Shown[] = [];
  /** When it was asked to show something, whatever the outcome. */
  readonly asked: Shown[] = [];
  away: Away | null = null;
  readonly #clock: Clock;
  readonly #incoming: Incoming[] = [];
  #bell = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  say(place: ChatAddress, text: string): void {
    const message = String(this.#incoming.length + 1);
    const person = { id: "7", name: "Ada" };
    const said = { text, files: [], addressed: true, quoted: null } as const;
    this.#incoming.push({ kind: "message", address: place, person, messageId: message, ...said });
    this.#bell.abort();
    this.#bell = new AbortController();
  }

  get adapter(): PlatformAdapter {
    const show = async (place: ChatAddress, text: string) => {
      const shown = { at: this.#clock.now(), place, text };
      this.asked.push(shown);
      if (this.away !== null) return troubles[this.away];
      this.shown.push(shown);
      return null;
    };
    return {
      platform: "telegram",
      capabilities: { repeats: "shown", edits: true, buttons: true, typing: true, files: true },
      limits: {
        textUnits: 4_096,
        buttonBytes: 64,
        fileBytes: 1_000_000,
        paceMs: ({ kind }) => (kind === "private" ? 1_000 : 3_000),
        callsPerSecond: 25,
      },
      identify: async () =>
        this.away === null ? { status: "identified", id: "1", name: "bot" } : troubles[this.away],
      subscribe: async () => ({ status: "subscribed" }),
      receive: async (cursor, patience, signal) => {
        const next = this.#incoming.length;
        if (patience === "wait" && cursor === next)
          await this.#clock.sleep(25_000, AbortSignal.any([signal, this.#bell.signal]));
        if (this.away !== null) return troubles[this.away];
        const incoming = this.#incoming.slice(cursor);
        return { status: "received", incoming, next: this.#incoming.length };
      },
      decodePush: () => null,
      send: async (place, { text }) =>
        (await show(place, text)) ?? { status: "sent", platformId: String(this.shown.length) },
      sendFile: async (place, { name }) =>
        (await show(place, name)) ?? { status: "sent", platformId: String(this.shown.length) },
      edit: async (place, _, { text }) => (await show(place, text)) ?? { status: "edited" },
      showTyping: async () => {},
      acknowledgePress: async () => {},
      fetchFile: async () => ({ status: "too_large" }),
      publishCommands: async () => {},
    };
  }
}
