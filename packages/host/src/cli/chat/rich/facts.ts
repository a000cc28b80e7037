import type { Client } from "@holdfast/client";
import type { SessionId, UsageTotalsView } from "@holdfast/protocol";

/** What the line of status knows beyond the session itself. It is asked for when it may have changed, and never waited for. */
export class FooterData {
  readonly #client: Pick<Client, "readUsage" | "listModels">;
  readonly #onNews: () => void;
  #usual: string;
  #asked = 0;
  #usage: { readonly of: SessionId; readonly totals: UsageTotalsView } | undefined;

  constructor(
    client: Pick<Client, "readUsage" | "listModels">,
    model: string | undefined,
    onNews: () => void,
  ) {
    this.#client = client;
    this.#usual = model ?? "";
    this.#onNews = onNews;
  }

  /** Who answers in a session that names nobody; empty while that is not known. */
  get defaultModel(): string {
    return this.#usual;
  }

  usageOf(id: SessionId | undefined): UsageTotalsView | undefined {
    return this.#usage?.of === id ? this.#usage?.totals : undefined;
  }

  async loadDefaultModel(): Promise<void> {
    const listed = await this.#client.listModels();
    if (!listed.ok || this.#usual !== "") return;
    this.#usual = listed.value.usual;
    this.#onNews();
  }

  async loadUsage(id: SessionId): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const read = await this.#client.readUsage({ query: { sessionId: id } });
    // An answer may be overtaken by that to a later question.
    if (!read.ok || asked !== this.#asked) return;
    this.#usage = { of: id, totals: read.value.usage };
    this.#onNews();
  }
}
