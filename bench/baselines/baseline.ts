export interface SavedMessage {
  readonly role: string;
  readonly content: string;
}

/** Another way to store sessions: it is given a session's messages, and returns them. */
export interface Baseline {
  readonly name: string;
  /** Stores these messages, of which the newest is new. */
  save(session: string, messages: readonly SavedMessage[]): unknown;
  load(session: string): unknown;
  close(): void;
}
