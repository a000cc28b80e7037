/** A program that may speak here, and where its answers go. */
export interface Hook {
  readonly name: string;
  /** The newest first: it is signed with all of them, and any of them is believed. */
  readonly secrets: readonly string[];
  /** `null`: it hears no answers. */
  readonly url: string | null;
  /** Whether the address may be one that is not on the public internet. */
  readonly network: "public" | "private";
  readonly connectedBy: "configuration" | "page";
}

/** Those that there are at this moment. */
export interface Hooks {
  find(name: string): Hook | null;
  list(): readonly Hook[];
}
