import { foldText, snippetText } from "../../shared/search-text/fold.ts";
import { tokensOf } from "../../shared/search-text/tokens.ts";
import type { Connection } from "../connection.ts";
import type { SearchableText } from "./documents.ts";
import { ownerToken, roleToken, sessionToken } from "./scope.ts";
import { recordTimes } from "./stretches.ts";

export interface DocumentSource {
  readonly pos: number;
  readonly at: number;
  readonly key: number;
  readonly owner: string;
}

/** Gives the documents of one step their numbers, tokens and times. */
export class DocumentWriter {
  readonly #index: Connection;
  readonly #first: number;
  next: number;
  #minAt = Infinity;
  #maxAt = -Infinity;

  constructor(index: Connection, next: number) {
    this.#index = index;
    this.#first = next;
    this.next = next;
  }

  add({ pos, at, key, owner }: DocumentSource, { role, text }: SearchableText): number {
    const id = this.next++;
    const tokens = tokensOf(foldText(snippetText(text)));
    tokens.add(ownerToken(owner)).add(sessionToken(key)).add(roleToken(role));
    const place = pos * 2 + (role === "title" ? 1 : 0);
    this.#index.sql("INSERT INTO documents VALUES (?, ?)").run(id, place);
    this.#index
      .sql("INSERT INTO postings (rowid, tokens) VALUES (?, ?)")
      .run(id, [...tokens].join(" "));
    this.#minAt = Math.min(this.#minAt, at);
    this.#maxAt = Math.max(this.#maxAt, at);
    return id;
  }

  finish(): void {
    if (this.next === this.#first) return;
    recordTimes(this.#index, {
      first: this.#first,
      last: this.next - 1,
      minAt: this.#minAt,
      maxAt: this.#maxAt,
    });
  }
}

export function dropDocument(index: Connection, id: number): void {
  index.sql("DELETE FROM postings WHERE rowid = ?").run(id);
  index.sql("DELETE FROM documents WHERE id = ?").run(id);
}
