import { type Register, StoreFailure } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

const titlesRow = z.record(z.string(), z.string());
type Titles = z.infer<typeof titlesRow>;

const maxChats = 200;
const maxTitleLength = 80;

/** The display names of a bot's group chats, in one row of the register. */
export class ChatTitles {
  readonly #register: Register;
  readonly #owner: OwnerId;
  readonly #key: string;
  #known: Titles = {};

  constructor(register: Register, owner: OwnerId, bot: string) {
    this.#register = register;
    this.#owner = owner;
    this.#key = `chats/${bot}`;
  }

  /** Best effort: if it can't be stored now, the next message brings it again. */
  async remember(chat: string, displayName: string): Promise<void> {
    const title = displayName.slice(0, maxTitleLength).toWellFormed();
    if (this.#known[chat] === title) return;
    try {
      const { titles, revision: expect } = await this.#read();
      // Evicts the chat that was renamed or added longest ago.
      const others = Object.entries(titles).filter(([other]) => other !== chat);
      const next = Object.fromEntries([...others.slice(1 - maxChats), [chat, title]]);
      const value = JSON.stringify(next);
      const put =
        titles[chat] === title
          ? null
          : await this.#register.put({ owner: this.#owner, key: this.#key, expect, value });
      if (put === null || put.status === "put") this.#known = next;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
    }
  }

  async list(): Promise<{ chat: string; name: string }[]> {
    const { titles } = await this.#read();
    return Object.entries(titles).map(([chat, name]) => ({ chat, name }));
  }

  async #read(): Promise<{ titles: Titles; revision: number }> {
    const found = await this.#register.read(this.#owner, this.#key);
    return { titles: (found && decodeTitles(found.value)) ?? {}, revision: found?.revision ?? 0 };
  }
}

function decodeTitles(value: string): Titles | null {
  try {
    return titlesRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
