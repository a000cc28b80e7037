export interface SavedMessage {
  readonly role: string;
  readonly content: string;
}

/** Another way to keep sessions: it is handed a session's messages, and gives them back. */
export interface Baseline {
  readonly name: string;
  /** Keeps these messages, the newest of which it has not seen before. */
  save(session: string, messages: readonly SavedMessage[]): unknown;
  load(session: string): unknown;
  close(): void;
}
