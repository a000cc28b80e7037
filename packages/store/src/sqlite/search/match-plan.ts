import { foldText, snippetText } from "../../shared/search-text/fold.ts";
import { type Token, tokensOf } from "../../shared/search-text/tokens.ts";
import type { Connection } from "../connection.ts";
import { knownEvent, searchableTextOf } from "./documents.ts";
import { ownerToken, roleToken, sessionToken } from "./scope.ts";
import type { StoreReader } from "./store-reader.ts";

const sampleSize = 256;
const sampleLength = 8_000;

/**
 * How common tokens are, guessed from a sample of the documents. Only speed depends on it: of a term's tokens
 * the rarest are enough to find where it may be.
 */
export class TokenFrequencies {
  #counts = new Map<Token, number>();
  #sampled = 0;
  #documents = 0;

  /** Takes a new sample when the index has grown to twice of what it was. */
  refresh(index: Connection, store: StoreReader, documents: number): void {
    if (this.#sampled > 0 && documents < this.#documents * 2 && documents >= this.#documents / 2)
      return;
    this.#documents = documents;
    this.#sampled = 0;
    this.#counts = new Map();
    const stride = Math.max(1, Math.floor(documents / sampleSize));
    for (let id = documents; id > 0 && this.#sampled < sampleSize; id -= stride) {
      const place = index.sql("SELECT place FROM documents WHERE id = ?").get(id)?.["place"];
      if (place !== undefined) this.#sample(store, Math.floor(Number(place) / 2));
    }
  }

  /** The share of documents that have it, between 0 and 1. */
  of(token: Token): number {
    return ((this.#counts.get(token) ?? 0) + 0.1) / (this.#sampled + 1);
  }

  #sample(store: StoreReader, pos: number): void {
    const row = store.eventAt(pos);
    const event = row && knownEvent(row);
    const spoken = event && searchableTextOf(event);
    if (row === undefined || spoken === undefined) return;
    this.#sampled += 1;
    const tokens = tokensOf(foldText(snippetText(spoken.text.slice(0, sampleLength))));
    const key = Number(row["session_key"]);
    tokens
      .add(sessionToken(key))
      .add(roleToken(spoken.role))
      .add(ownerToken(ownerOf(store, key)));
    for (const token of tokens) this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
  }
}

function ownerOf(store: StoreReader, key: number): string {
  const row = store.connection.sql("SELECT owner_id FROM sessions WHERE key = ?").get(key);
  return String(row?.["owner_id"] ?? "");
}
