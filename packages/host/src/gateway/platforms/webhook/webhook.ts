import type { WebhookCommand } from "@holdfast/protocol";

/** A program that may speak here, and where its answers go. */
export interface Webhook {
  readonly name: string;
  /** The newest first: it is signed with all of them, and any of them is believed. */
  readonly secrets: readonly string[];
  /** `null`: it hears no answers. */
  readonly url: string | null;
  /** Whether the address may be one that is not on the public internet. */
  readonly network: "public" | "private";
  /** What its texts may be beside messages: what it passes on may be anybody's words, and begin with a slash. */
  readonly commands: readonly WebhookCommand[];
  /** What these reach: the sessions that the very lane has begun, or all of the owner's. */
  readonly sessions: "own" | "all";
  readonly connectedBy: "configuration" | "page";
}

/** Those that there are at this moment. */
export interface WebhookLookup {
  find(name: string): Webhook | null;
  list(): readonly Webhook[];
}
