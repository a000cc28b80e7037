import type { LaneKey, TaintSource } from "@holdfast/protocol";

/** A chat and, on platforms that have them, a thread in it. */
export interface ChatAddress {
  readonly chat: string;
  readonly thread: string | null;
  readonly kind: "private" | "group";
}

export interface Person {
  readonly id: string;
  readonly name: string;
}

/** A file that a person sent. Its bytes are fetched on demand. */
export interface IncomingFile {
  readonly kind: "file" | "image";
  readonly name: string;
  readonly mediaType: string;
  readonly size: number | null;
  readonly reference: string;
}

interface IncomingBase {
  readonly address: ChatAddress;
  readonly person: Person;
  /** The chat's display name, if the platform sent one. */
  readonly chatTitle?: string;
  /** The platform's id of the message, unique within its chat. */
  readonly messageId: string;
}

export type Incoming =
  | (IncomingBase & {
      readonly kind: "message" | "edit";
      readonly text: string;
      readonly files: readonly IncomingFile[];
      /** The message is meant for the bot. Always true in a private chat. */
      readonly addressed: boolean;
      /** An excerpt of the message it replies to, unless that is the bot's latest answer. */
      readonly quoted: string | null;
      /** Somebody else wrote it, and this person passes it on. */
      readonly forwarded?: true;
    })
  | (IncomingBase & { readonly kind: "press"; readonly press: string; readonly data: string });

export interface Button {
  readonly label: string;
  readonly data: string;
}

/**
 * `text` is Markdown as the model writes it; the adapter converts it to the platform's format. The platform must not
 * fetch links in it for previews: that sends data out without a click.
 */
export interface OutgoingText {
  readonly text: string;
  readonly buttons?: readonly (readonly Button[])[];
}

export interface OutgoingFile {
  readonly kind: "file" | "image";
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * How a call to the platform failed.
 * - `later`: it certainly had no effect; it may be retried after `afterMs`.
 * - `refused`: it had no effect, and an identical retry won't either.
 * - `unknown`: it may have had an effect.
 */
export type PlatformFailure =
  | {
      readonly status: "later";
      readonly afterMs: number;
      /** The platform itself is down, so calls for other chats would fail too. */
      readonly isAway: boolean;
      readonly code: string;
      readonly message: string;
    }
  | { readonly status: "refused"; readonly code: string; readonly message: string }
  | { readonly status: "unknown"; readonly code: string; readonly message: string };

export type SendResult =
  | { readonly status: "sent"; readonly platformId: string }
  /** The recipient wants no messages (a webhook without an address), so nothing was sent. */
  | { readonly status: "unwanted"; readonly code: string }
  | PlatformFailure;
export type EditResult = { readonly status: "edited" } | PlatformFailure;
export type FetchResult =
  | { readonly status: "fetched"; readonly bytes: Uint8Array }
  | { readonly status: "too_large" }
  | PlatformFailure;

export interface SendMeta {
  /** The same for every attempt of one message; unique otherwise. */
  readonly id: string;
  /** The platform's id of the message it replies to. */
  readonly replyTo: string | null;
}

export interface PlatformCapabilities {
  /** What the platform does with a message sent twice under one id: it drops the second, or shows both. */
  readonly repeats: "dropped" | "shown";
  readonly edits: boolean;
  readonly buttons: boolean;
  readonly typing: boolean;
  readonly files: boolean;
}

export interface PlatformLimits {
  /** Maximum length of one message, in UTF-16 units of its Markdown. */
  readonly textUnits: number;
  /** Maximum size of a button's data. */
  readonly buttonBytes: number;
  readonly fileBytes: number;
  /** Minimum time between two visible calls in one chat. */
  readonly paceMs: (address: ChatAddress) => number;
  /** How many visible calls a second the platform accepts from one bot. */
  readonly callsPerSecond: number;
}

export interface BotIdentity {
  readonly id: string;
  readonly name: string;
}

export interface CommandMenuItem {
  readonly name: string;
  readonly help: string;
}

/** One page of updates. Asking for the page after `next` confirms it. */
export type ReceiveResult =
  | { readonly status: "received"; readonly incoming: readonly Incoming[]; readonly next: number }
  /** Another client polls for the same bot. `message` says what to do about it. */
  | { readonly status: "contended"; readonly message: string }
  | PlatformFailure;

/**
 * A chat platform. Methods throw only on bugs: platform and network failures are values. Each call sends at most
 * once; an adapter never retries by itself.
 */
export interface PlatformAdapter {
  readonly platform: string;
  /** Which strangers may have written what comes in a lane, if the platform passes on anybody's text. */
  strangers?(lane: LaneKey): readonly TaintSource[];
  readonly capabilities: PlatformCapabilities;
  readonly limits: PlatformLimits;
  identify(
    signal: AbortSignal,
  ): Promise<({ readonly status: "identified" } & BotIdentity) | PlatformFailure>;
  /** Has updates pushed to an address, or (`null`) held until we poll for them. */
  subscribe(
    hook: { readonly url: string; readonly secret: string } | null,
    signal: AbortSignal,
  ): Promise<{ readonly status: "subscribed" } | PlatformFailure>;
  /** Updates from `cursor` on. With `wait`, a poll without updates blocks for a while (long polling). */
  receive(cursor: number, mode: "wait" | "look", signal: AbortSignal): Promise<ReceiveResult>;
  /** Decodes a pushed update; `null` if it is of no kind we handle. */
  decodePush(pushed: unknown): Incoming | null;
  send(
    address: ChatAddress,
    message: OutgoingText,
    meta: SendMeta,
    signal: AbortSignal,
  ): Promise<SendResult>;
  sendFile(
    address: ChatAddress,
    file: OutgoingFile,
    meta: SendMeta,
    signal: AbortSignal,
  ): Promise<SendResult>;
  /** Repeating an edit is not an error. Only called if `capabilities.edits` is set. */
  edit(
    address: ChatAddress,
    platformId: string,
    message: OutgoingText,
    signal: AbortSignal,
  ): Promise<EditResult>;
  showTyping(address: ChatAddress, signal: AbortSignal): Promise<void>;
  /** Stops the spinner of a pressed button; `text` is shown to the person who pressed it. */
  acknowledgePress(press: string, text: string, signal: AbortSignal): Promise<void>;
  fetchFile(file: IncomingFile, signal: AbortSignal): Promise<FetchResult>;
  publishCommands(commands: readonly CommandMenuItem[], signal: AbortSignal): Promise<void>;
}
